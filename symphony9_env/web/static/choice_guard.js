"use strict";
/* Guards against accidental moves. Buttons change under the pointer, so a click counts only if it was aimed at the
   choice while its question was shown: with the pointer once the player has had time to see the question, or with the
   key of the choice at any time. */
symphony9.choiceGuard = (() => {
  const ACTIVATION_DELAY = 400; // milliseconds from a new question until its buttons react
  let question = null; // the turn that is shown
  let isActive = false; // whether its buttons react
  let timer = null;
  let aim = null; // the turn and the action that the pointer or a key was put on last

  /* Start the delay if this turn was not shown before. */
  function showQuestion(turn) {
    if (turn === question) return;
    question = turn;
    isActive = false;
    clearTimeout(timer);
    timer = setTimeout(() => {
      isActive = true;
      markChoices();
    }, ACTIVATION_DELAY);
  }

  /* Show whether the choices react. */
  function markChoices() {
    for (const button of document.querySelectorAll(".choice"))
      button.setAttribute("aria-disabled", String(!isActive));
  }

  const describeAim = (action) => `${question} ${action}`;

  /* Note that the player has pressed the key of a choice. */
  function aimAt(action) {
    aim = describeAim(action);
  }

  /* Whether a click was meant for a choice. Clicks by Enter, the space bar and screen readers have detail 0. */
  function isMeant(action, click) {
    return aim === describeAim(action) || (click.detail === 0 && isActive);
  }

  document.addEventListener("pointerdown", (event) => {
    const button = event.target.closest(".choice");
    aim = button && isActive ? describeAim(button.dataset.action) : null;
  });
  document.addEventListener("keydown", (event) => {
    const isHeldDown = event.repeat && event.key === "Enter";
    if (isHeldDown && event.target.closest(".choice")) event.preventDefault();
  });

  return { showQuestion, markChoices, aimAt, isMeant };
})();
