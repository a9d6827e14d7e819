"use strict";
/* The page of one seat: shows the messages of the server and sends the player's choices. The rules are the server's. */
(() => {
  const { h, byId, nameOf, titleOf, drawMark, redraw } = symphony9.common;
  const { drawChoice, drawTracks, drawBoards, drawOwnThings, drawLogLine } = symphony9.board;
  const { drawScoreSheet, describeResult } = symphony9.scoreSheet;
  const { redrawConcert, drawNeeded } = symphony9.concert;
  const { showQuestion, markChoices, aimAt, isMeant } = symphony9.choiceGuard;
  const { request, showProblem, HOST_KEY } = symphony9.server;
  const token = location.hash.slice(1);
  const SEEN_KEY = `symphony9-seen-${token.slice(0, 8)}`;
  const CUBE_KINDS = ["take", "keep", "discard"];
  const CONCERT_KINDS = ["gave", "concert", "income"]; // log lines of a concert
  const MAX_ANNOUNCEMENTS = 40;
  let model = null; // the last message, and what drawing needs besides
  let isSending = false;
  let numSeen = Number(sessionStorage.getItem(SEEN_KEY)) || 0; // log lines that existed when this seat last moved

  async function choose(choice, turn) {
    if (isSending || turn !== model.turn) return;
    isSending = true;
    document.body.classList.add("busy");
    showProblem(null);
    const numLines = model.log.length;
    try {
      const message = await request(token, "/api/seat/move", {
        turn,
        action: choice.action,
      });
      numSeen = numLines;
      sessionStorage.setItem(SEEN_KEY, numSeen);
      show(message);
    } catch (error) {
      showProblem(`${choice.label}: ${error.message}`);
    } finally {
      isSending = false;
      document.body.classList.remove("busy");
    }
  }

  // The question.

  /* The number key of a musician. */
  const keyOf = (musician) =>
    1 + model.view.position.musicians.findIndex(({ name }) => name === musician);

  function drawCubeChoice(choice) {
    const name = h(
      "span",
      {},
      titleOf(model, choice.musician),
      h("kbd", {}, keyOf(choice.musician)),
    );
    return drawChoice(
      model,
      choice,
      drawMark(model, choice.musician, 30),
      name,
      h("small", {}, choice.note),
    );
  }

  /* The amounts of bids or announcements; a row for coins alone, and one for each piece of furniture. */
  function drawAmounts(kind) {
    const choices = model.view.choices.filter((choice) => choice.kind === kind);
    const rows = [...new Set(choices.map((choice) => choice.furniture))];
    return rows.map((furniture) =>
      h(
        "div",
        {
          class: "amounts",
          role: "group",
          "aria-label": furniture ? `with the $${furniture} furniture` : "coins",
        },
        h(
          "span",
          { class: "faint" },
          kind === "announce"
            ? "announce"
            : furniture
              ? `with furniture $${furniture}`
              : "coins alone",
        ),
        choices
          .filter((choice) => choice.furniture === furniture)
          .map((choice) => drawChoice(model, choice, `$${choice.amount}`)),
      ),
    );
  }

  function drawOtherChoice(choice) {
    return drawChoice(
      model,
      choice,
      choice.label,
      choice.kind === "pass" ? h("kbd", {}, "P") : h("small", {}, choice.note),
    );
  }

  function drawEnd() {
    const isHost = sessionStorage.getItem(HOST_KEY);
    return [
      h("h2", {}, describeResult(model)),
      h(
        "p",
        {},
        h("button", { type: "button", onclick: scrollToSheet }, "Score sheet"),
        " ",
        isHost && h("a", { href: "/" }, "Set up another game"),
      ),
    ];
  }

  function drawWaiting() {
    const { position } = model.view;
    return [
      h("h2", {}, `Waiting for ${nameOf(model, position.to_decide)}`),
      h("p", { class: "faint" }, `to ${position.question}.`),
      drawRecent(),
    ];
  }

  function drawDecision() {
    const { position, own, choices } = model.view;
    const isBuying = position.decision.startsWith("buy");
    const canBuy = choices.some((choice) => choice.kind === "take");
    return [
      h(
        "h2",
        {},
        "Your decision: ",
        position.question,
        position.pending > 1 ? h("small", {}, `${position.pending} left`) : null,
      ),
      drawRecent(),
      (isBuying || model.isContributing) &&
        h(
          "p",
          {},
          `You have $${own.money}${isBuying && !canBuy ? ": nothing can be bought now" : ""}.`,
        ),
      model.isContributing && drawNeeded(model),
      h(
        "div",
        { class: "cube-choices" },
        choices.filter((choice) => CUBE_KINDS.includes(choice.kind)).map(drawCubeChoice),
      ),
      position.decision === "bid" &&
        h(
          "p",
          { class: "faint" },
          "You pay only if the concert takes place. Furniture counts its full value; no change is given, and its points are lost.",
        ),
      h("div", { class: "groups" }, drawAmounts("bid"), drawAmounts("announce")),
      h(
        "div",
        { class: "others" },
        choices.filter((choice) => ["pass", "sell"].includes(choice.kind)).map(drawOtherChoice),
      ),
      h(
        "p",
        { class: "faint keys" },
        "Press a button's key to move to it (amounts: the number itself) and Enter to choose it. You can sell furniture at any of your decisions.",
      ),
    ];
  }

  function drawQuestion() {
    const { position, seat } = model.view;
    if (position.score_sheet) return drawEnd();
    return position.to_decide === seat ? drawDecision() : drawWaiting();
  }

  /* What happened since this seat's last move: concerts in full, the rest folded if it is long. */
  function drawRecent() {
    const isOwnMove = (line) => line.kind === "move" && line.seat === model.view.seat;
    const recent = model.log
      .slice(numSeen)
      .filter((line) => line.kind !== "round" && !isOwnMove(line));
    if (!numSeen || !recent.length) return null;
    const list = (lines) =>
      h(
        "ul",
        {},
        lines.map((line) => drawLogLine(model, line)),
      );
    const concert = recent.filter((line) => CONCERT_KINDS.includes(line.kind));
    const others = recent.filter((line) => !CONCERT_KINDS.includes(line.kind));
    return h(
      "div",
      { class: "recent" },
      concert.length
        ? h("div", { class: "recent-concert" }, h("b", {}, "The concert"), list(concert))
        : null,
      others.length
        ? h(
            "details",
            { open: others.length <= 4 && !concert.length },
            h("summary", {}, `Since your last move (${others.length})`),
            list(others),
          )
        : null,
    );
  }

  function scrollToSheet() {
    const sheet = document.querySelector(".score-sheet");
    sheet.scrollIntoView({ block: "start" });
    sheet.focus({ preventScroll: true });
  }

  // Showing a message.

  function show(message) {
    if (model && message.turn < model.turn) return; // a message that was overtaken by a newer one
    const newLines = model ? message.log.slice(model.log.length) : [];
    const wasAsked = model !== null && model.view.position.to_decide === message.view.seat;
    const { position, seat } = message.view;
    const isAsked = position.to_decide === seat;
    showQuestion(message.turn);
    model = {
      ...message,
      choose: (choice, click) => isMeant(choice.action, click) && choose(choice, message.turn),
      isReplay: false,
      isContributing: isAsked && ["bid", "announce"].includes(position.decision),
    };
    const isNewlyOver = position.score_sheet && !document.querySelector(".score-sheet");
    draw(isAsked);
    announce(newLines, isAsked && !wasAsked);
    if (isNewlyOver) scrollToSheet();
  }

  function draw(isAsked) {
    const { game, position, seat } = model.view;
    document.querySelector("main").hidden = false;
    document.title = isAsked ? "Your turn · Symphony No. 9" : "Symphony No. 9";
    byId("progress").textContent =
      `Round ${position.round} of ${game.num_rounds} · ${nameOf(model, seat)}`;
    redraw(byId("question"), drawQuestion());
    byId("question").classList.toggle("asked", isAsked);
    byId("question").classList.toggle("over", Boolean(position.score_sheet));
    byId("question").classList.toggle("last-sale", position.decision === "sell");
    redraw(
      byId("left"),
      position.score_sheet && drawScoreSheet(model),
      drawTracks(model),
      drawBoards(model),
    );
    redrawConcert(byId("concert"), model);
    redraw(byId("right"), drawOwnThings(model));
    if (model.problem) showProblem(model.problem);
    markChoices();
    drawLog();
  }

  function drawLog() {
    const lines = model.log.map((line) => drawLogLine(model, line));
    for (const line of lines.slice(numSeen || lines.length)) line.classList.add("latest");
    byId("log").replaceChildren(...lines);
    byId("log").scrollTop = byId("log").scrollHeight;
  }

  /* Let screen readers read what has just happened, and that it is this seat's turn. */
  function announce(newLines, isNewlyAsked) {
    const { position } = model.view;
    const texts = newLines.map((line) =>
      line.seat === null ? line.text : `${nameOf(model, line.seat)} ${line.text}`,
    );
    if (isNewlyAsked) texts.push(`Your decision: ${position.question}`);
    if (position.score_sheet && newLines.length) texts.push(describeResult(model));
    byId("announcements").append(...texts.map((text) => h("p", {}, text)));
    while (byId("announcements").children.length > MAX_ANNOUNCEMENTS)
      byId("announcements").firstChild.remove();
    if (document.activeElement === document.body) byId("question").focus({ preventScroll: true });
  }

  // The connection.

  const MIN_DELAY = 500; // milliseconds until the first attempt to connect again; doubled after each failure
  const MAX_DELAY = 8000;
  let delay = MIN_DELAY;

  function connect() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/api/seat/events`);
    socket.onopen = () => socket.send(token);
    socket.onmessage = (event) => {
      delay = MIN_DELAY;
      if (byId("connection").textContent) showProblem(null); // the request that failed can be repeated now
      byId("connection").textContent = "";
      show(JSON.parse(event.data));
    };
    socket.onclose = (event) => {
      if (event.code >= 4400 && event.code < 4500) return showProblem(event.reason); // refused by the server
      byId("connection").textContent = "Connection lost: trying again …";
      setTimeout(connect, delay);
      delay = Math.min(delay * 2, MAX_DELAY);
    };
  }

  // The keyboard: a key moves to a choice, Enter chooses it.

  function findByKey(key) {
    const { choices } = model.view;
    if (key === "p" || key === "P") return choices.find((choice) => choice.kind === "pass");
    if (!/^[0-9]$/.test(key)) return undefined;
    const number = Number(key);
    const isCube = (choice) =>
      CUBE_KINDS.includes(choice.kind) && keyOf(choice.musician) === number;
    return choices.find(
      (choice) => isCube(choice) || (choice.amount === number && choice.furniture === null),
    );
  }

  document.addEventListener("keydown", (event) => {
    if (
      !model ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.target.tagName === "INPUT" ||
      document.querySelector("dialog[open]")
    )
      return;
    const choice = findByKey(event.key);
    if (!choice) return;
    event.preventDefault();
    aimAt(choice.action);
    byId("question").querySelector(`[data-action="${choice.action}"]`)?.focus();
  });

  byId("rules-button").addEventListener("click", () => byId("rules-dialog").showModal());
  byId("name-button").addEventListener("click", () => {
    byId("name").value = nameOf(model, model.view.seat);
    byId("name-dialog").showModal();
  });
  byId("name-form").addEventListener("submit", async (event) => {
    if (event.submitter?.value !== "change") return;
    try {
      show(await request(token, "/api/seat/name", { name: byId("name").value }));
    } catch (error) {
      showProblem(error.message);
    }
  });

  async function start() {
    if (!token)
      return showProblem(
        "This page needs the complete link of a seat, as the host has given it to you.",
      );
    try {
      const message = await request(token, "/api/seat");
      byId("rules").textContent = message.rules.replace(/([^\n])\n(?=[^\n\d]) */g, "$1 "); // unwrap the paragraphs
      show(message);
      connect();
    } catch (error) {
      showProblem(error.message);
    }
  }
  addEventListener("hashchange", () => location.reload()); // another seat's link in the same tab
  start();
})();
