"use strict";
/* The page of one seat: shows what the server sends, sends what is chosen. The server knows the rules; this page doesn't. */
(() => {
  const {
    h,
    mark,
    nameOf,
    needed,
    button,
    tracks,
    redrawConcert,
    boards,
    purse,
    scoreSheet,
    result,
    logLine,
    redraw,
  } = symphony9;
  const { ask, complain, HOST_KEY } = server;
  const byId = (id) => document.getElementById(id);
  const token = location.hash.slice(1);
  let game = null;
  let busy = false;
  const SEEN = `symphony9-seen-${token.slice(0, 8)}`;
  let seen = Number(sessionStorage.getItem(SEEN)) || 0; // lines of the log that were there when this seat last moved

  async function choose(choice) {
    if (busy) return;
    busy = true;
    document.body.classList.add("busy");
    complain(null);
    const lines = game.log.length;
    try {
      const answer = await ask(token, "/api/seat/move", { turn: game.turn, action: choice.action });
      seen = lines;
      sessionStorage.setItem(SEEN, seen);
      show(answer);
    } catch (error) {
      complain(`${choice.label}: ${error.message}`);
    } finally {
      busy = false;
      document.body.classList.remove("busy");
    }
  }

  // What is asked.

  const WHOLE = { take: "take", keep: "keep", discard: "discard" };

  function cubeChoices(kind) {
    const found = game.choices.filter((choice) => choice.kind === kind);
    return found.map((choice) =>
      button(
        game,
        choice,
        mark(game.setting, choice.row, 30),
        h("span", {}, game.setting.musicians[choice.row].name, h("kbd", {}, choice.row + 1)),
        h("small", {}, choice.note),
      ),
    );
  }

  function amounts(kind) {
    const found = game.choices.filter((choice) => choice.kind === kind);
    const rows = [...new Set(found.map((choice) => choice.value ?? null))];
    return rows.map((value) =>
      h(
        "div",
        {
          class: "amounts",
          role: "group",
          "aria-label": value ? `with the $${value} furniture` : "coins",
        },
        h(
          "span",
          { class: "faint" },
          kind === "announce" ? "announce" : value ? `with furniture $${value}` : "coins alone",
        ),
        found
          .filter((choice) => (choice.value ?? null) === value)
          .map((choice) => button(game, choice, `$${choice.amount}`)),
      ),
    );
  }

  function question() {
    const { scene } = game;
    if (scene.sheet) {
      const isHost = sessionStorage.getItem(HOST_KEY);
      return [
        h("h2", {}, result(game)),
        h(
          "p",
          {},
          h("button", { type: "button", onclick: toSheet }, "Score sheet"),
          " ",
          isHost && h("a", { href: "/" }, "Set up another game"),
        ),
      ];
    }
    if (scene.to_decide !== game.seat) {
      return [
        h("h2", {}, `Waiting for ${nameOf(game, scene.to_decide)}`),
        h("p", { class: "faint" }, `who is asked to ${scene.question}.`),
        since(),
      ];
    }
    const left = scene.pending > 1 ? h("small", {}, `${scene.pending} left`) : null;
    const others = game.choices.filter(
      (choice) => choice.kind === "pass" || choice.kind === "sell",
    );
    const money = scene.boards[game.seat].money;
    const buying = scene.decision.startsWith("buy");
    const nothing = buying && !game.choices.some((choice) => choice.kind === "take");
    return [
      h("h2", {}, "Your decision: ", scene.question, left),
      since(),
      (buying || game.isGiving) &&
        h("p", {}, `You have $${money}${nothing ? ": nothing can be bought now" : ""}.`),
      game.isGiving && needed(game),
      h("div", { class: "cube-choices" }, Object.values(WHOLE).map(cubeChoices)),
      scene.decision === "bid" &&
        h(
          "p",
          { class: "faint" },
          "Paid only if the concert takes place. A piece of furniture counts its full value; no change is given, and its points are lost with it.",
        ),
      h("div", { class: "groups" }, amounts("bid"), amounts("announce")),
      h(
        "div",
        { class: "others" },
        others.map((choice) =>
          button(
            game,
            choice,
            choice.label,
            choice.kind === "pass" ? h("kbd", {}, "P") : h("small", {}, choice.note),
          ),
        ),
      ),
      hint(),
    ];
  }

  function hint() {
    return h(
      "p",
      { class: "faint keys" },
      "A button's key moves to it, Enter takes it; amounts have their own numbers. Furniture can be sold at any of your decisions.",
    );
  }

  function toSheet() {
    document.querySelector(".sheet").scrollIntoView({ block: "start" });
    document.querySelector(".sheet").focus({ preventScroll: true });
  }

  const OF_A_CONCERT = ["gave", "concert", "income"];

  /* What happened since this seat's last move: a concert in full, the rest in short. */
  function since() {
    const fresh = game.log
      .slice(seen)
      .filter(
        (event) => event.kind !== "round" && !(event.kind === "move" && event.seat === game.seat),
      );
    if (!seen || !fresh.length) return null;
    const lines = (events) =>
      h(
        "ul",
        {},
        events.map((event) => logLine(game, event)),
      );
    const ofConcert = fresh.filter((event) => OF_A_CONCERT.includes(event.kind));
    const rest = fresh.filter((event) => !OF_A_CONCERT.includes(event.kind));
    return h(
      "div",
      { class: "since" },
      ofConcert.length
        ? h("div", { class: "resolved" }, h("b", {}, "The concert"), lines(ofConcert))
        : null,
      rest.length
        ? h(
            "details",
            { open: rest.length <= 4 && !ofConcert.length },
            h("summary", {}, `Since your last move (${rest.length})`),
            lines(rest),
          )
        : null,
    );
  }

  function show(message) {
    if (game && message.turn < game.turn) return; // an older one that came late
    const news = game ? message.log.slice(game.log.length) : [];
    const mine = !game || game.scene.to_decide !== message.seat;
    game = { ...game, ...message, choose };
    const { scene, setting } = game;
    game.isGiving = scene.to_decide === game.seat && ["bid", "announce"].includes(scene.decision);
    const isNewlyOver = scene.sheet && !document.querySelector(".sheet");
    document.querySelector("main").hidden = false;
    byId("where").textContent =
      `Round ${scene.round} of ${setting.rounds} · ${nameOf(game, game.seat)}`;
    document.title =
      scene.to_decide === game.seat ? "Your turn · Symphony No. 9" : "Symphony No. 9";
    redraw(byId("question"), question());
    byId("question").classList.toggle("asked", scene.to_decide === game.seat);
    byId("question").classList.toggle("over", Boolean(scene.sheet));
    byId("question").classList.toggle("last-sale", scene.decision === "sell");
    redraw(byId("left"), scene.sheet && scoreSheet(game), tracks(game), boards(game));
    redrawConcert(byId("concert"), game);
    redraw(byId("right"), purse(game));
    if (game.problem) complain(game.problem);
    const lines = game.log.map((event) => logLine(game, event));
    for (const line of lines.slice(seen || lines.length)) line.classList.add("fresh");
    byId("log").replaceChildren(...lines);
    byId("log").scrollTop = byId("log").scrollHeight;
    say(news, mine);
    if (isNewlyOver) toSheet();
  }

  /* For screen readers: what has just happened, and that it is this seat's turn. New lines are read, old ones stay. */
  function say(news, asked) {
    const told = news.map((event) =>
      event.seat === null ? event.text : `${nameOf(game, event.seat)} ${event.text}`,
    );
    if (game.scene.to_decide === game.seat && asked)
      told.push(`Your decision: ${game.scene.question}`);
    if (game.scene.sheet && news.length) told.push(result(game));
    byId("said").append(...told.map((text) => h("p", {}, text)));
    while (byId("said").children.length > 40) byId("said").firstChild.remove();
    if (document.activeElement === document.body) byId("question").focus({ preventScroll: true });
  }

  // The connection.

  let wait = 500;
  let socket = null;

  function connect() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    socket = new WebSocket(`${scheme}//${location.host}/api/seat/events`);
    socket.onopen = () => socket.send(token);
    socket.onmessage = (event) => {
      wait = 500;
      if (byId("connection").textContent) complain(null); // what failed then can be tried again
      byId("connection").textContent = "";
      show(JSON.parse(event.data));
    };
    socket.onclose = (event) => {
      if (event.code >= 4400 && event.code < 4500) return complain(event.reason);
      byId("connection").textContent = "Connection lost: trying again …";
      setTimeout(connect, wait);
      wait = Math.min(wait * 2, 8000);
    };
  }

  // The keyboard: a key moves to a choice, Enter takes it.

  function byKey(key) {
    if (key === "p" || key === "P") return game.choices.find((choice) => choice.kind === "pass");
    if (!/^[0-9]$/.test(key)) return undefined;
    const number = Number(key);
    return game.choices.find(
      (choice) =>
        (choice.row === number - 1 && choice.kind in WHOLE) ||
        (choice.amount === number && !choice.value),
    );
  }

  document.addEventListener("keydown", (event) => {
    if (
      !game ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.target.tagName === "INPUT" ||
      document.querySelector("dialog[open]")
    )
      return;
    const choice = byKey(event.key);
    if (!choice) return;
    event.preventDefault();
    byId("question").querySelector(`[data-action="${choice.action}"]`)?.focus();
  });

  byId("rules-button").addEventListener("click", () => byId("rules").showModal());
  byId("name-button").addEventListener("click", () => {
    byId("name").value = nameOf(game, game.seat);
    byId("naming").showModal();
  });
  byId("rename").addEventListener("submit", async (event) => {
    if (event.submitter?.value !== "change") return;
    try {
      show(await ask(token, "/api/seat/name", { name: byId("name").value }));
    } catch (error) {
      complain(error.message);
    }
  });

  async function start() {
    if (!token)
      return complain("This page needs the whole link of a seat, as the host has given it to you.");
    try {
      const message = await ask(token, "/api/seat");
      byId("primer").textContent = message.primer.replace(/([^\n])\n(?=[^\n\d]) */g, "$1 "); // lines as long as the window
      show(message);
      connect();
    } catch (error) {
      complain(error.message);
    }
  }
  addEventListener("hashchange", () => location.reload()); // another seat's link in the same tab
  start();
})();
