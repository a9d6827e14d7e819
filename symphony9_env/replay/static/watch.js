"use strict";
/* Replays: all positions are here already; this only chooses which one to show, and whose view of it. */
(() => {
  const { h, s, nameOf, tracks, concert, boards, purse, scoreSheet, logLine, redraw, range } =
    symphony9;
  const byId = (id) => document.getElementById(id);
  const games = JSON.parse(byId("games").textContent);
  const OPEN = "open";
  let replay = games[0];
  let at = 0;
  let timer = null;

  /* A frame as one seat saw it: what others own and hold is covered until the game is over. */
  function seenBy(frame, seat) {
    if (seat === null || frame.scene.sheet) return frame.scene;
    const covered = frame.scene.boards.map((board) =>
      board.seat === seat ? board : { ...board, money: null, furniture: null },
    );
    return { ...frame.scene, boards: covered };
  }

  const chosenSeat = () => (byId("seat").value === OPEN ? null : Number(byId("seat").value));
  const DOUBT = 0.05; // chances to win that are closer are as good as the same, with so few playouts
  const ENOUGH = 10; // playouts to say anything of a move

  /* What search hopes to gain over the move that was made: a share of wins in its playouts. */
  function gain({ move, comment }) {
    if (!move || !comment?.search || comment.search === move.name) return 0;
    const [count, won] = comment.tried[move.name] ?? [0, 0];
    const [most, best] = comment.tried[comment.search];
    return count < ENOUGH ? 0 : best / most - won / count;
  }
  const isDoubt = (frame) => gain(frame) >= DOUBT;
  const isConcert = (frame) => frame.events.some((event) => event.kind === "concert");
  const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

  // What was decided here, and what a policy and search think of it.

  /* What others think of their decisions shows what they own: a seat's view has its own thoughts only. */
  const mayTell = (frame, seat) => seat === null || frame.scene.to_decide === seat;

  function odds(frame) {
    const { comment, move } = frame;
    const shown = comment.odds.slice(0, 8);
    if (move && !shown.some(([name]) => name === move.name))
      shown.push(comment.odds.find(([name]) => name === move.name) ?? [move.name, 0]);
    return shown.map(([name, chance]) =>
      h(
        "li",
        { class: name === move?.name ? "played" : "" },
        h("span", { class: "bar", style: `--share:${chance}` }),
        h("span", {}, name),
        h("b", {}, chance ? percent(chance) : "under 0.5 %"),
      ),
    );
  }

  function comment(frame, seat) {
    const { scene } = frame;
    if (scene.sheet) return h("p", {}, "The game is over.");
    const who = nameOf(replay, scene.to_decide);
    if (!mayTell(frame, seat))
      return [
        h("h2", {}, `${who} decides`, h("small", {}, scene.question)),
        h("p", { class: "faint" }, "The log tells what of it can be seen from this seat."),
      ];
    const told = frame.comment ?? {};
    return [
      h(
        "h2",
        {},
        frame.move ? `${who}: ${frame.move.name}` : `${who} is to decide`,
        h("small", {}, scene.question),
      ),
      h(
        "div",
        { class: "critics" },
        told.odds &&
          h(
            "div",
            {},
            h(
              "p",
              { class: "faint" },
              `What ${told.policy} would do`,
              told.win === undefined
                ? ""
                : `; it gives ${who} a chance of ${percent(told.win)} to win`,
            ),
            h("ul", { class: "odds" }, odds(frame)),
          ),
        told.search && h("p", { class: isDoubt(frame) ? "doubt" : "faint" }, searchSays(frame)),
      ),
    ];
  }

  function searchSays({ move, comment }) {
    const told = (name) => {
      const [count, won] = comment.tried[name] ?? [0, 0];
      return count
        ? `${name} wins ${percent(won / count)} of ${count} playouts`
        : `${name} was not tried`;
    };
    if (!move || comment.search === move.name)
      return `Search would do the same: ${told(comment.search)}.`;
    return `Search would choose otherwise: ${told(comment.search)}; ${told(move.name)}.`;
  }

  /* Each seat's chance to win whenever it decided, as the policy saw it; ticks where search sees something clearly better. */
  function curve(seat) {
    const frames = replay.frames;
    const width = Math.max(frames.length - 1, 1);
    const x = (index) => (1000 * index) / width;
    const points = replay.players.map(() => []);
    frames.forEach((frame, index) => {
      if (frame.comment?.win !== undefined)
        points[frame.scene.to_decide].push(`${x(index)},${70 - 60 * frame.comment.win}`);
    });
    const shown = range(replay.players.length).filter(
      (player) => points[player].length && (seat === null || player === seat),
    );
    const ticks = frames.flatMap((frame, index) =>
      isDoubt(frame) && mayTell(frame, seat)
        ? [s("line", { x1: x(index), x2: x(index), y1: 74, y2: 82, class: "tick" })]
        : [],
    );
    if (!shown.length && !ticks.length) return null;
    return [
      s(
        "svg",
        {
          class: "chances",
          viewBox: "0 0 1000 84",
          preserveAspectRatio: "none",
          role: "img",
          "aria-label":
            "Chances to win by the policy's estimate; ticks where search sees something clearly better",
          onclick: (event) =>
            go(Math.round((width * event.offsetX) / event.currentTarget.clientWidth)),
        },
        s("line", { x1: 0, x2: 1000, y1: 70, y2: 70, class: "axis" }),
        s("line", { x1: 0, x2: 1000, y1: 10, y2: 10, class: "axis" }),
        shown.map((player) =>
          s("polyline", { points: points[player].join(" "), class: `line seat-${player}` }),
        ),
        ticks,
        s("line", { x1: x(at), x2: x(at), y1: 4, y2: 84, class: "now" }),
      ),
      h(
        "p",
        { class: "faint legend" },
        "Chance to win when deciding, 0 to 100 %: ",
        shown.map((player) =>
          h(
            "span",
            {},
            s(
              "svg",
              { class: "chances key", viewBox: "0 0 30 8", "aria-hidden": "true" },
              s("line", { x1: 0, x2: 30, y1: 4, y2: 4, class: `line seat-${player}` }),
            ),
            " ",
            nameOf(replay, player),
            " ",
          ),
        ),
        ticks.length ? "· ticks: search sees clearly better" : "",
      ),
    ];
  }

  // Showing a position.

  function show() {
    const frame = replay.frames[at];
    const seat = chosenSeat();
    const looks = seat ?? frame.scene.to_decide ?? 0;
    const game = {
      setting: replay.setting,
      players: replay.players,
      choices: [],
      choose: () => {},
      watching: true,
      scene: seenBy(frame, seat),
      seat,
      own: seat === null ? null : frame.own[seat],
      concertIsNew: isConcert(frame),
    };
    byId("time").max = replay.frames.length - 1;
    byId("time").value = at;
    byId("time").setAttribute(
      "aria-valuetext",
      `move ${at} of ${replay.frames.length - 1}, round ${frame.scene.round}`,
    );
    byId("where").textContent =
      `Move ${at} of ${replay.frames.length - 1} · round ${frame.scene.round} of ${replay.setting.rounds}`;
    redraw(byId("comment"), comment(frame, seat));
    redraw(byId("curve"), curve(seat) ?? []);
    redraw(
      byId("left"),
      frame.scene.sheet && scoreSheet(game),
      tracks({ ...game, own: game.own ?? frame.own[looks] }),
      boards(game),
    );
    const things = {
      ...game,
      seat: looks,
      own: frame.own[looks],
      whose: `${nameOf(replay, looks)}'s things`,
    };
    redraw(byId("right"), concert(game), purse(things));
    byId("doubt").disabled = !replay.frames.some(
      (one, index) => index > at && isDoubt(one) && mayTell(one, seat),
    );
    drawLog(game);
  }

  function drawLog(game) {
    const lines = replay.frames.slice(0, at + 1).flatMap((frame, index) =>
      frame.events.map((event) => {
        const line = logLine(game, event);
        if (index === at && at > 0) line.classList.add("fresh");
        line.addEventListener("click", () => go(index));
        return line;
      }),
    );
    byId("log").replaceChildren(...lines);
    byId("log").scrollTop = byId("log").scrollHeight;
  }

  function go(to) {
    at = Math.min(Math.max(to, 0), replay.frames.length - 1);
    if (at === replay.frames.length - 1) stop();
    location.replace(`#${games.indexOf(replay)},${at}`);
    show();
  }

  function goToNext(wanted) {
    const next = replay.frames.findIndex((frame, index) => index > at && wanted(frame));
    if (next >= 0) go(next);
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    byId("play").textContent = "Play";
  }

  function play() {
    if (timer) return stop();
    if (at === replay.frames.length - 1) at = 0;
    byId("play").textContent = "Stop";
    timer = setInterval(() => go(at + 1), 1000 / Number(byId("speed").value));
  }

  function open(index) {
    replay = games[index] ?? games[0];
    byId("game").value = String(games.indexOf(replay));
    const seat = byId("seat").value;
    const seats = [
      h("option", { value: OPEN }, "all hands"),
      ...replay.players.map((one, number) => h("option", { value: number }, `as ${one.name}`)),
    ];
    byId("seat").replaceChildren(...seats);
    byId("seat").value = seat && Number(seat) < replay.players.length ? seat : OPEN;
    byId("doubt").hidden = !replay.frames.some((frame) => frame.comment?.search);
  }

  byId("game").replaceChildren(
    ...games.map((one, index) => h("option", { value: index }, one.title)),
  );
  byId("game-choice").hidden = games.length < 2;
  byId("game").addEventListener("change", () => {
    stop();
    open(Number(byId("game").value));
    go(0);
  });
  byId("seat").addEventListener("change", show);
  byId("speed").addEventListener("change", () => {
    if (timer) {
      stop();
      play();
    }
  });
  byId("time").addEventListener("input", () => {
    stop();
    go(Number(byId("time").value));
  });
  const ACTIONS = {
    first: () => go(0),
    back: () => go(at - 1),
    next: () => go(at + 1),
    last: () => go(replay.frames.length - 1),
    play,
    concert: () => goToNext(isConcert),
    doubt: () => goToNext((frame) => isDoubt(frame) && mayTell(frame, chosenSeat())),
  };
  for (const [id, action] of Object.entries(ACTIONS))
    byId(id).addEventListener("click", () => {
      if (id !== "play") stop();
      action();
    });
  const KEYS = {
    ArrowLeft: "back",
    ArrowRight: "next",
    Home: "first",
    End: "last",
    " ": "play",
    c: "concert",
    d: "doubt",
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    const { tagName } = event.target; // these have a use for some keys themselves
    if (tagName === "INPUT" || tagName === "SELECT" || (tagName === "BUTTON" && event.key === " "))
      return;
    event.preventDefault();
    byId(KEYS[event.key]).click();
  });

  const [game, move] = location.hash.slice(1).split(",").map(Number);
  open(Math.trunc(game) || 0);
  go(Math.trunc(move) || 0);
})();
