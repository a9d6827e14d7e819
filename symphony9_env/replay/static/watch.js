"use strict";
/* The replay page. It contains all positions; this script chooses which one to show, and as which seat sees it. */
(() => {
  const { h, s, byId, range, formatSigned, nameOf, redraw } = symphony9.common;
  const { drawTracks, drawBoards, drawOwnThings, drawLogLine } = symphony9.board;
  const { drawScoreSheet } = symphony9.scoreSheet;
  const { drawConcert } = symphony9.concert;
  const { theme, replays } = JSON.parse(byId("data").textContent);
  const ALL_HANDS = "all";
  let replay = replays[0];
  let current = 0; // index of the frame that is shown
  let timer = null;

  /* Each frame contains only what has changed since the one before: add the rest. */
  function restoreFrames({ frames }) {
    frames.slice(1).forEach((frame, index) => {
      const before = frames[index];
      frame.position = { ...before.position, ...frame.position };
      frame.own = frame.own.map((own, seat) => own ?? before.own[seat]);
    });
  }

  const chosenSeat = () => (byId("seat").value === ALL_HANDS ? null : Number(byId("seat").value));

  /* Comments on another player's decision would reveal what that player owns. */
  const isCommentVisible = (frame, seat) => seat === null || frame.position.to_decide === seat;

  /* What a seat sees in a frame: the public position and its own things; those of all seats if the seat is null. */
  function makeView(frame, seat) {
    const addPurse = (board) => {
      const isVisible =
        board.seat === seat || (seat === null && board.seat < replay.players.length);
      return isVisible
        ? {
            ...board,
            money: frame.own[board.seat].money,
            furniture: frame.own[board.seat].furniture,
          }
        : board;
    };
    const position = { ...frame.position, boards: frame.position.boards.map(addPurse) };
    const own = frame.own[seat ?? position.to_decide ?? 0];
    return { seat, game: replay.game, position, own, choices: [] };
  }

  // Comments on the decision.

  const doesSearchDisagree = ({ comment }) => Boolean(comment?.search?.is_disagreement);
  const hasConcert = (frame) => frame.log.some((line) => line.kind === "concert");
  const formatPercent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

  function drawProbabilities({ comment, move }) {
    const all = comment.policy.probabilities;
    const shown = all.slice(0, 8);
    if (move && !shown.some(([name]) => name === move.name))
      shown.push(all.find(([name]) => name === move.name) ?? [move.name, 0]);
    return shown.map(([name, probability]) =>
      h(
        "li",
        { class: name === move?.name ? "played" : "" },
        h("span", { class: "bar", style: `--share:${probability}` }),
        h("span", {}, name),
        h("b", {}, probability ? formatPercent(probability) : "under 0.5 %"),
      ),
    );
  }

  function drawPolicyComment(frame, player) {
    const { policy, win_chance } = frame.comment.policy;
    const chance =
      win_chance === null
        ? ""
        : `; it estimates ${player}'s chance to win at ${formatPercent(win_chance)}`;
    return h(
      "div",
      {},
      h("p", { class: "faint" }, `What ${policy} would do${chance}`),
      h("ul", { class: "probabilities" }, drawProbabilities(frame)),
    );
  }

  function describeSearch({ move, comment }) {
    const { choice, playouts, choice_chance, move_chance, gain_95 } = comment.search;
    const result = `${choice} wins ${formatPercent(choice_chance)} of ${playouts} playouts`;
    if (!move) return `Search would choose: ${result}.`;
    if (gain_95 === null) return `Search would make the same move: ${result}.`;
    const [low, high] = gain_95.map((gain) => formatSigned(Math.round(100 * gain)));
    return `Search would choose another move: ${result}; ${move.name} wins ${formatPercent(move_chance)} in the same worlds (difference, 95 % interval: ${low} to ${high} points).`;
  }

  function drawComment(frame, seat) {
    const { position, comment, move } = frame;
    if (position.score_sheet) return h("p", {}, "The game is over.");
    const player = nameOf(replay, position.to_decide);
    const question = h("small", {}, position.question);
    if (!isCommentVisible(frame, seat)) {
      return [
        h("h2", {}, `${player} decides`, question),
        h("p", { class: "faint" }, "The log shows what this seat can see of the move."),
      ];
    }
    return [
      h("h2", {}, move ? `${player}: ${move.name}` : `${player} is to decide`, question),
      h(
        "div",
        { class: "comments" },
        comment?.policy && drawPolicyComment(frame, player),
        comment?.search &&
          h(
            "p",
            { class: doesSearchDisagree(frame) ? "disagreement" : "faint" },
            describeSearch(frame),
          ),
      ),
    ];
  }

  // The chances to win over the game.

  const chartX = (index) => (1000 * index) / Math.max(replay.frames.length - 1, 1);

  function drawLegend(players, hasTicks) {
    const key = (player) =>
      s(
        "svg",
        { class: "chart key", viewBox: "0 0 30 8", "aria-hidden": "true" },
        s("line", { x1: 0, x2: 30, y1: 4, y2: 4, class: `line seat-${player}` }),
      );
    const entries = players.map((player) =>
      h("span", {}, key(player), " ", nameOf(replay, player), " "),
    );
    return h(
      "p",
      { class: "faint legend" },
      "Chance to win at each decision, 0 to 100 %: ",
      entries,
      hasTicks ? "· ticks: search found a clearly better move" : "",
    );
  }

  /* Each seat's chance to win at each of its decisions, as the policy estimates it; ticks where search disagrees. */
  function drawChart(seat) {
    const points = replay.players.map(() => []);
    replay.frames.forEach(({ comment, position }, index) => {
      const chance = comment?.policy?.win_chance ?? null;
      if (chance !== null) points[position.to_decide].push(`${chartX(index)},${70 - 60 * chance}`);
    });
    const players = range(points.length).filter(
      (player) => points[player].length && (seat === null || player === seat),
    );
    const line = (x, y1, y2, kind) => s("line", { x1: x, x2: x, y1, y2, class: kind });
    const ticks = replay.frames.flatMap((frame, index) =>
      doesSearchDisagree(frame) && isCommentVisible(frame, seat)
        ? [line(chartX(index), 74, 82, "tick")]
        : [],
    );
    if (!players.length && !ticks.length) return [];
    const goToClick = (event) =>
      goTo(
        Math.round(((replay.frames.length - 1) * event.offsetX) / event.currentTarget.clientWidth),
      );
    return [
      s(
        "svg",
        {
          class: "chart",
          viewBox: "0 0 1000 84",
          preserveAspectRatio: "none",
          role: "img",
          "aria-label":
            "Chances to win as the policy estimates them; ticks where search found a clearly better move",
          onclick: goToClick,
        },
        [70, 10].map((y) => s("line", { x1: 0, x2: 1000, y1: y, y2: y, class: "axis" })),
        players.map((player) =>
          s("polyline", { points: points[player].join(" "), class: `line seat-${player}` }),
        ),
        ticks,
        line(chartX(current), 4, 84, "current"),
      ),
      drawLegend(players, ticks.length > 0),
    ];
  }

  // Showing a frame.

  function drawProgress(frame) {
    const last = replay.frames.length - 1;
    byId("time").max = last;
    byId("time").value = current;
    byId("time").setAttribute(
      "aria-valuetext",
      `move ${current} of ${last}, round ${frame.position.round}`,
    );
    byId("progress").textContent =
      `Move ${current} of ${last} · round ${frame.position.round} of ${replay.game.num_rounds}`;
  }

  function drawFrame() {
    const frame = replay.frames[current];
    const seat = chosenSeat();
    const model = {
      theme,
      players: replay.players,
      view: makeView(frame, seat),
      isReplay: true,
      isConcertNew: hasConcert(frame),
    };
    const owner = nameOf(replay, seat ?? frame.position.to_decide ?? 0);
    drawProgress(frame);
    redraw(byId("comment"), drawComment(frame, seat));
    redraw(byId("chart"), drawChart(seat));
    redraw(
      byId("left"),
      frame.position.score_sheet && drawScoreSheet(model),
      drawTracks(model),
      drawBoards(model),
    );
    redraw(byId("right"), drawConcert(model), drawOwnThings(model, `${owner}'s things`));
    byId("disagreement").disabled = !replay.frames.some(
      (other, index) =>
        index > current && doesSearchDisagree(other) && isCommentVisible(other, seat),
    );
    drawLog(model);
  }

  function drawLog(model) {
    const lines = replay.frames.slice(0, current + 1).flatMap((frame, index) =>
      frame.log.map((line) => {
        const item = drawLogLine(model, line);
        if (index === current && current > 0) item.classList.add("latest");
        item.addEventListener("click", () => goTo(index));
        return item;
      }),
    );
    byId("log").replaceChildren(...lines);
    byId("log").scrollTop = byId("log").scrollHeight;
  }

  // Moving through the game.

  function goTo(index) {
    current = Math.min(Math.max(index, 0), replay.frames.length - 1);
    if (current === replay.frames.length - 1) stop();
    location.replace(`#${replays.indexOf(replay)},${current}`);
    drawFrame();
  }

  function goToNext(isWanted) {
    const next = replay.frames.findIndex((frame, index) => index > current && isWanted(frame));
    if (next >= 0) goTo(next);
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    byId("play").textContent = "Play";
  }

  function togglePlay() {
    if (timer) return stop();
    if (current === replay.frames.length - 1) current = 0;
    byId("play").textContent = "Stop";
    timer = setInterval(() => goTo(current + 1), 1000 / Number(byId("speed").value));
  }

  function openReplay(index) {
    replay = replays[index] ?? replays[0];
    byId("game").value = String(replays.indexOf(replay));
    const seat = byId("seat").value;
    const seats = replay.players.map((player, number) =>
      h("option", { value: number }, `as ${player.name}`),
    );
    byId("seat").replaceChildren(h("option", { value: ALL_HANDS }, "all hands"), ...seats);
    byId("seat").value = seat && Number(seat) < replay.players.length ? seat : ALL_HANDS;
    byId("disagreement").hidden = !replay.frames.some((frame) => frame.comment?.search);
  }

  replays.forEach(restoreFrames);
  byId("game").replaceChildren(
    ...replays.map((one, index) => h("option", { value: index }, one.title)),
  );
  byId("game-choice").hidden = replays.length < 2;
  byId("game").addEventListener("change", () => {
    stop();
    openReplay(Number(byId("game").value));
    goTo(0);
  });
  byId("seat").addEventListener("change", drawFrame);
  byId("speed").addEventListener("change", () => {
    if (!timer) return;
    stop();
    togglePlay();
  });
  byId("time").addEventListener("input", () => {
    stop();
    goTo(Number(byId("time").value));
  });

  const BUTTONS = {
    first: () => goTo(0),
    back: () => goTo(current - 1),
    next: () => goTo(current + 1),
    last: () => goTo(replay.frames.length - 1),
    play: togglePlay,
    concert: () => goToNext(hasConcert),
    disagreement: () =>
      goToNext((frame) => doesSearchDisagree(frame) && isCommentVisible(frame, chosenSeat())),
  };
  for (const [id, action] of Object.entries(BUTTONS)) {
    byId(id).addEventListener("click", () => {
      if (id !== "play") stop();
      action();
    });
  }
  const KEYS = {
    ArrowLeft: "back",
    ArrowRight: "next",
    Home: "first",
    End: "last",
    " ": "play",
    c: "concert",
    d: "disagreement",
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    const { tagName } = event.target; // these elements use some of the keys themselves
    if (tagName === "INPUT" || tagName === "SELECT" || (tagName === "BUTTON" && event.key === " "))
      return;
    event.preventDefault();
    byId(KEYS[event.key]).click();
  });

  const [index, frame] = location.hash.slice(1).split(",").map(Number);
  openReplay(Math.trunc(index) || 0);
  goTo(Math.trunc(frame) || 0);
})();
