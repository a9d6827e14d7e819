"use strict";
/* Draws a game's table from the JSON that symphony9_env/web/scene.py makes. Used by the playing page and by replays.
   Text from people or files is only ever put in as text, never as markup. */
// biome-ignore lint/correctness/noUnusedVariables: The scripts of the pages use it.
const symphony9 = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "style")
        node.style.cssText = value; // not as an attribute: the page's policy forbids those
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(
      ...children
        .flat(Infinity)
        .filter((child) => child !== null && child !== undefined && child !== false),
    );
    return node;
  }
  const h = (tag, attributes, ...children) =>
    fill(document.createElement(tag), attributes, children);
  const s = (tag, attributes, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

  const ordinal = (place) => place + (["st", "nd", "rd"][place - 1] ?? "th");
  const signed = (amount) => (amount > 0 ? "+" : amount < 0 ? "−" : "") + Math.abs(amount);
  const rounded = (points) => String(Math.round(points * 100) / 100);
  const plural = (count, one, many) => `${count} ${count === 1 ? one : (many ?? `${one}s`)}`;
  const listed = (names) =>
    names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : (names[0] ?? "");
  const range = (count) => Array.from({ length: count }, (_, index) => index);

  /* A musician's mark: his shape in his colour, with his two letters if it is large enough. */
  function mark(setting, row, size = 26, letters = true) {
    const musician = setting.musicians[row];
    const corners = setting.shapes[musician.shape];
    const shape = corners.length
      ? s("polygon", { points: corners.map(([x, y]) => `${x * 11},${y * 11}`).join(" ") })
      : s("circle", { r: 11 });
    shape.setAttribute("fill", musician.colour);
    const low = musician.shape === "triangle"; // his letters stand where the shape is wide
    const text =
      letters &&
      s(
        "text",
        { y: low ? 6.8 : 3.6, class: low ? "small" : null, fill: musician.ink },
        musician.code,
      );
    return s(
      "svg",
      {
        class: "mark",
        width: size,
        height: size,
        viewBox: "-12.5 -12.5 25 25",
        "aria-hidden": "true",
      },
      shape,
      text,
    );
  }

  function cubes(setting, row, count, size = 13) {
    return h(
      "span",
      { class: "cubes", "aria-hidden": "true" },
      range(count).map(() => mark(setting, row, size, false)),
    );
  }

  /* Everything about a game that drawing needs: setting, scene, players, the seat that looks (null: nobody's), its own
     things, choices, and what to call when one is chosen. */
  const nameOf = (game, seat) => (seat < game.players.length ? game.players[seat].name : "the bot");

  function button(game, choice, ...content) {
    return h(
      "button",
      {
        type: "button",
        class: `choice ${choice.kind}`,
        "data-action": choice.action,
        title: choice.note || null,
        "aria-label": choice.note ? `${choice.label}: ${choice.note}` : choice.label,
        onclick: () => game.choose(choice),
      },
      content.length ? content : choice.label,
    );
  }

  const find = (game, kind, row) =>
    game.choices.find((choice) => choice.kind === kind && choice.row === row);

  // Career tracks.

  function track(game, row) {
    const now = game.scene.musicians[row];
    const name = game.setting.musicians[row].name;
    const passed = now.uncovered.slice(0, -1);
    const steps = now.ahead.map(([to_go, reputation], index) => [
      to_go - (index ? now.ahead[index - 1][0] : 0),
      reputation,
    ]);
    const told =
      `${name}'s track: reputation ${now.reputation} now, ${plural(now.cubes_left, "cube")} left` +
      now.ahead.map(([to_go, reputation]) => `; after ${to_go} more, ${reputation}`).join("");
    return h(
      "div",
      { class: "track", role: "img", "aria-label": told },
      passed.map((reputation) => h("span", { class: "space passed" }, reputation)),
      h("span", { class: "space now" }, now.uncovered.length ? now.reputation : "0"),
      steps.map(([count, reputation]) => [
        cubes(game.setting, row, count),
        h("span", { class: "space" }, reputation),
      ]),
    );
  }

  function tile(game, row) {
    const musician = game.setting.musicians[row];
    const same = new Set(musician.points).size === 1;
    const points = same ? rounded(musician.points[0]) : musician.points.map(rounded).join(" / ");
    const mine = game.own?.points.breakdown[musician.key];
    return h(
      "div",
      { class: "tile" },
      mine !== undefined &&
        h(
          "span",
          {
            class: mine ? "mine some" : "mine",
            title: "your points from this tile if the game ended now",
          },
          `${game.watching ? "now" : "you"}: ${rounded(mine)} pts`,
        ),
      h(
        "span",
        {},
        h("b", {}, musician.tile),
        ` ${musician.counts}: `,
        h(
          "span",
          {
            class: "points",
            title: same ? "points for each" : "points for each, with 1 / 2 / 3 compositions of his",
          },
          points,
        ),
      ),
    );
  }

  function musician(game, row) {
    const now = game.scene.musicians[row];
    const fixed = game.setting.musicians[row];
    const choice = find(game, "take", row);
    const performing = game.scene.performing.includes(fixed.key);
    return h(
      "li",
      { class: `musician fame-${now.fame}${now.dead ? " dead" : ""}${choice ? " open" : ""}` },
      mark(game.setting, row, 38),
      h(
        "div",
        { class: "who" },
        h(
          "b",
          {},
          fixed.name,
          performing &&
            h(
              "span",
              {
                class: "performed",
                title: "performed in the last concert",
                role: "img",
                "aria-label": ", performed in the last concert",
              },
              " ♫",
            ),
        ),
        h("span", { class: "fame" }, `${ordinal(now.place)} · ${now.fame} fame`),
        now.dead && h("span", { class: "badge" }, "dead"),
      ),
      h("div", { class: "lines" }, track(game, row), tile(game, row)),
      choice
        ? button(
            game,
            choice,
            choice.label.startsWith("Buy") ? "Buy" : "Take",
            h("small", {}, choice.note),
          )
        : h("span", { class: "no-choice" }),
    );
  }

  function tracks(game) {
    return h(
      "section",
      { class: "card tracks", "aria-label": "Career tracks" },
      h(
        "h2",
        {},
        "Career tracks",
        h("small", {}, "reputation after the cubes before it are gone; scoring tiles"),
      ),
      h(
        "ul",
        {},
        range(game.setting.musicians.length).map((row) => musician(game, row)),
      ),
    );
  }

  // The concert.

  const UNIT = 20;

  /* The scale of totals with its classes; above it, if a concert was held, who gave what. */
  function gauge(game) {
    const { setting, scene } = game;
    const most = Math.max(setting.classes.at(-1).to + 4, scene.total ?? 0);
    const x = (total) => (total + 2) * UNIT;
    const parts = [s("rect", { x: 0, y: 46, width: x(most + 1), height: 22, class: "class-fail" })];
    for (const one of setting.classes) {
      parts.push(
        s("rect", {
          x: x(one.from),
          y: 46,
          width: (one.to - one.from + 1) * UNIT,
          height: 22,
          class: `class-${one.name}`,
        }),
      );
      parts.push(s("text", { x: x((one.from + one.to + 1) / 2), y: 62, class: "label" }, one.name));
    }
    parts.push(
      s("text", { x: x(setting.classes[0].from / 2), y: 62, class: "label" }, "too little: fails"),
    );
    parts.push(
      s(
        "text",
        { x: x((setting.classes.at(-1).to + most + 2) / 2), y: 62, class: "label" },
        "too much",
      ),
    );
    for (let total = 0; total <= most; total += 1) {
      if (total % 2 === 0)
        parts.push(s("text", { x: x(total) + UNIT / 2, y: 84, class: "number" }, total));
    }
    if (scene.outcome) parts.push(...stack(game, x));
    const told = scene.outcome ? `Total of the last concert: ${scene.total}` : "No concert yet";
    return s(
      "svg",
      {
        class: game.concertIsNew ? "gauge new" : "gauge",
        viewBox: `0 0 ${x(most + 1)} 90`,
        role: "img",
        "aria-label": told,
      },
      parts,
    );
  }

  function stack(game, x) {
    const { scene } = game;
    const gave = scene.boards
      .filter((board) => board.gave)
      .map((board) => [board.seat, board.gave[0]]);
    const token = scene.total - gave.reduce((sum, [, amount]) => sum + amount, 0);
    const parts = [];
    let from = Math.min(token, 0);
    let step = 0;
    const put = (amount, kind, label) => {
      if (amount <= 0) return;
      const group = s(
        "g",
        { class: "given", style: `--step:${step}` },
        s("rect", {
          x: x(from) + 1 + UNIT / 2,
          y: 12,
          width: amount * UNIT - 2,
          height: 26,
          rx: 4,
          class: kind,
        }),
        s("text", { x: x(from + amount / 2) + UNIT / 2, y: 30, class: "label" }, label),
      );
      parts.push(group);
      from += amount;
      step += 1;
    };
    if (token < 0)
      parts.push(s("text", { x: 2, y: 10, class: "label start" }, `royal ${signed(token)}`));
    put(token, "royal", `+${token}`);
    for (const [seat, amount] of gave)
      put(
        amount,
        `seat-${seat}`,
        amount > 2
          ? `${short(nameOf(game, seat), Math.floor(amount * 2.4) - 3)} $${amount}`
          : `$${amount}`,
      );
    const at = x(scene.total) + UNIT / 2;
    parts.push(
      s("path", { d: `M${at} 46 l-7 -9 h14 z`, class: "needle" }),
      s("text", { x: at, y: 10, class: "total" }, scene.total),
    );
    return parts;
  }

  const short = (text, length) =>
    text.length > length ? `${text.slice(0, Math.max(length - 1, 1))}…` : text;

  function outcome(game) {
    const { scene, setting } = game;
    if (!scene.outcome)
      return h("p", { class: "outcome" }, "The first concert comes at the end of this round.");
    const names = scene.performing.map(
      (key) => setting.musicians.find((one) => one.key === key).name,
    );
    const text = names.length
      ? `Last concert: ${scene.total}, ${scene.outcome} class, performed by ${listed(names)}.`
      : `Last concert: ${scene.total}, ${scene.outcome}: it failed and nobody paid.`;
    const bot =
      scene.bot_tile &&
      h(
        "span",
        { class: "faint" },
        ` The bot's tile: $${scene.bot_tile.join(" / ")} by the fame of what it holds most of.`,
      );
    return h("p", { class: "outcome" }, text, bot);
  }

  /* What the contributions must add up to, once the royal budget is known. */
  function needed(game) {
    const { scene, setting } = game;
    if (scene.token === null || scene.sheet) return null;
    const whose = setting.num_players === 2 ? "From you two and the bot" : "From all players";
    const classes = setting.classes.map((one, index) => [
      index ? ", " : "",
      h(
        "span",
        { class: "whole" },
        h("b", {}, `${one.from - scene.token}–${one.to - scene.token}`),
        ` for ${one.name} class ($${one.income} a cube)`,
      ),
    ]);
    return h(
      "p",
      {},
      `The royal budget is ${signed(scene.token)}. ${whose} it takes `,
      classes,
      ".",
    );
  }

  function budget(game) {
    const { scene } = game;
    const chips = (tokens, kind) =>
      tokens.map((token) => h("span", { class: `chip ${kind}` }, signed(token)));
    const left = [...new Set(scene.tokens_left)].sort((a, b) => b - a);
    const counts = left.map(
      (token) => `${scene.tokens_left.filter((one) => one === token).length} × ${signed(token)}`,
    );
    return h(
      "div",
      { class: "budget" },
      !game.isGiving && needed(game), // else it stands in the question
      h(
        "p",
        { class: "faint" },
        "Royal tokens shown: ",
        scene.tokens_seen.length ? chips(scene.tokens_seen, "seen") : "none",
        " · not shown yet: ",
        counts.map((count, index) => h("span", { class: "whole" }, (index ? ", " : "") + count)),
      ),
      h(
        "p",
        { class: "faint" },
        `Counted for scoring so far: ${plural(scene.successes, "concert")}, ${plural(scene.performers, "performer")}.`,
      ),
    );
  }

  function concert(game) {
    const pay = game.setting.classes.map((one) => `${one.name} $${one.income}`).join(", ");
    return h(
      "section",
      { class: "card concert", "aria-label": "The royal concert" },
      h(
        "h2",
        {},
        "The royal concert",
        h("small", {}, `everybody gives $0 to $${game.setting.limit}; pay for a cube: ${pay}`),
      ),
      gauge(game),
      h("div", { class: "told" }, outcome(game), budget(game)),
    );
  }

  /* Draws the concert, and leaves the scale as it is unless another concert was held: it may still be moving. */
  function redrawConcert(place, game) {
    const held = String(game.log.filter((event) => event.kind === "concert").length);
    const before = place.dataset.held;
    place.dataset.held = held;
    if (before === held)
      place.querySelector(".told").replaceWith(concert(game).querySelector(".told"));
    else place.replaceChildren(concert({ ...game, concertIsNew: before !== undefined }));
  }

  // Boards.

  function holding(game, board, row) {
    const earlier = board.earlier[row];
    const fresh = board.new[row];
    const works = board.compositions[row];
    const name = game.setting.musicians[row].name;
    const told = `${plural(earlier + fresh, "cube")}${fresh ? `, ${fresh} of them new` : ""}, ${plural(works, "composition")} of ${name}`;
    return h(
      "td",
      { "aria-label": told },
      earlier + fresh
        ? h(
            "span",
            { class: "held" },
            earlier,
            fresh ? h("span", { class: "fresh" }, `+${fresh}`) : null,
          )
        : h("span", { class: "none" }, "·"),
      works
        ? h(
            "span",
            { class: "works", title: `${plural(works, "composition")} by ${name}` },
            `♪${works}`,
          )
        : null,
    );
  }

  function status(game, board) {
    const { scene, setting } = game;
    const notes = [];
    if (board.money !== null && board.money !== undefined && board.seat !== game.seat) {
      notes.push(
        `$${board.money}, furniture ${board.furniture.map((value) => `$${value}`).join(" ") || "none"}`,
      );
    }
    if (board.closed) notes.push("hand closed");
    if (board.announced !== null) notes.push(`announced $${board.announced}`);
    if (board.sold.length)
      notes.push(`sold this round: ${board.sold.map((value) => `$${value}`).join(", ")}`);
    if (board.kept)
      notes.push(`keeps a ${setting.musicians.find((one) => one.key === board.kept).name} cube`);
    const paid = scene.performing.length > 0; // a failed concert is given back
    if (board.gave)
      notes.push(
        `last concert: ${paid ? "gave" : "offered"} $${board.gave[0]}${board.gave[1] ? ` with furniture $${board.gave[1]}` : ""}`,
      );
    return [
      scene.to_decide === board.seat && h("span", { class: "badge to-decide" }, "to decide"),
      scene.start === board.seat && h("span", { class: "badge" }, "start player"),
      notes.join(" · "),
    ];
  }

  function boards(game) {
    const { scene, setting } = game;
    const first = game.seat ?? 0;
    const order = range(setting.num_players).map((place) => (first + place) % setting.num_players);
    const rows = [
      ...order.map((seat) => scene.boards[seat]),
      ...scene.boards.slice(setting.num_players),
    ];
    const head = (board) =>
      h(
        "th",
        { scope: "row" },
        h("span", { class: `dot seat-${board.seat}`, "aria-hidden": "true" }),
        h(
          "span",
          { class: "name" },
          nameOf(game, board.seat),
          board.seat === game.seat && !game.watching ? " (you)" : "",
        ),
      );
    return h(
      "section",
      { class: "card boards", "aria-label": "Cubes and compositions" },
      h(
        "h2",
        {},
        "Cubes and compositions",
        h("small", {}, "cubes of earlier rounds + new ones, ♪ compositions"),
      ),
      h(
        "div",
        {
          class: "scroll",
          tabindex: "0",
          role: "group",
          "aria-label": "Cubes and compositions, table",
        },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("td", {}),
              setting.musicians.map((one, row) =>
                h(
                  "th",
                  { scope: "col" },
                  mark(setting, row, 26),
                  h("span", { class: "hidden" }, one.name),
                ),
              ),
            ),
          ),
          h(
            "tbody",
            {},
            rows.map((board) => [
              h(
                "tr",
                { class: scene.to_decide === board.seat ? "deciding" : "" },
                head(board),
                range(setting.musicians.length).map((row) => holding(game, board, row)),
              ),
              h(
                "tr",
                { class: "status" },
                h("td", { colspan: setting.musicians.length + 1 }, status(game, board)),
              ),
            ]),
          ),
        ),
      ),
    );
  }

  // The seat's own things.

  function purse(game) {
    const board = game.scene.boards[game.seat];
    const points = game.own.points;
    const parts = Object.entries(points.breakdown).filter(([, value]) => value);
    const label = (source) => {
      const found = game.setting.musicians.find((one) => one.key === source);
      return found ? `${found.name}'s tile` : source.replace("_", " ");
    };
    return h(
      "section",
      { class: "card purse", "aria-label": game.whose ?? "Your things" },
      h("h2", {}, game.whose ?? "Your things"),
      h(
        "div",
        { class: "own" },
        h("span", { class: "money" }, `$${board.money}`),
        Object.entries(game.setting.furniture).map(([value, worth]) => {
          const owned = board.furniture.includes(Number(value));
          const choice = game.choices.find(
            (one) => one.kind === "sell" && one.value === Number(value),
          );
          return h(
            "span",
            { class: owned ? "furniture" : "furniture gone" },
            h("b", {}, `$${value}`),
            owned ? ` furniture, ${worth} points` : " furniture, gone",
            choice && button(game, choice, "Sell"),
          );
        }),
      ),
      game.own.hand &&
        h(
          "p",
          {},
          `Your closed hand: $${game.own.hand[0]}${game.own.hand[1] ? `, with the $${game.own.hand[1]} furniture` : ""}.`,
        ),
      !game.scene.sheet &&
        h(
          "p",
          {},
          h("b", {}, `${rounded(points.total)} points`),
          " if the game ended now",
          parts.length
            ? `: ${parts.map(([source, value]) => `${label(source)} ${rounded(value)}`).join(", ")}.`
            : ".",
        ),
    );
  }

  /* Who has won, and how the one who looks has done. */
  function result(game) {
    const { sheet } = game.scene;
    const winners = sheet.flatMap((line, seat) => (line.rank === 1 ? [seat] : []));
    const names = listed(winners.map((seat) => nameOf(game, seat)));
    const won = `${names} ${winners.length > 1 ? "share the win" : "wins"} with ${rounded(sheet[winners[0]].total)} points`;
    const mine = game.watching || game.seat === null ? undefined : sheet[game.seat];
    return mine && mine.rank > 1
      ? `${won}; you are ${ordinal(mine.rank)} with ${rounded(mine.total)}`
      : won;
  }

  function scoreSheet(game) {
    const { scene, setting } = game;
    const sources = Object.keys(scene.sheet[0].breakdown);
    const label = (source) => {
      const row = setting.musicians.findIndex((one) => one.key === source);
      if (row >= 0)
        return [
          mark(setting, row, 22),
          ` ${setting.musicians[row].name}, ${setting.musicians[row].tile}`,
        ];
      return source === "last_works" ? "works of the dead" : source;
    };
    const cell = (line, value) =>
      h("td", { class: line.rank === 1 ? "winner" : "" }, rounded(value));
    return h(
      "section",
      { class: "card sheet", "aria-label": "Score sheet", tabindex: "-1" },
      h("h2", {}, result(game)),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "group", "aria-label": "Score sheet, table" },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, "points"),
              scene.sheet.map((line, seat) =>
                h(
                  "th",
                  { scope: "col", class: line.rank === 1 ? "winner" : "" },
                  nameOf(game, seat),
                  seat === game.seat && !game.watching ? " (you)" : "",
                ),
              ),
            ),
          ),
          h(
            "tbody",
            {},
            sources.map((source) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, label(source)),
                scene.sheet.map((line) => cell(line, line.breakdown[source])),
              ),
            ),
            h(
              "tr",
              { class: "sum" },
              h("th", { scope: "row" }, "total"),
              scene.sheet.map((line) => cell(line, line.total)),
            ),
            h(
              "tr",
              {},
              h("th", { scope: "row" }, "rank"),
              scene.sheet.map((line) => cell(line, line.rank)),
            ),
          ),
        ),
      ),
    );
  }

  // The log.

  function logLine(game, event) {
    if (event.kind === "round") return h("li", { class: "round" }, event.text);
    return h(
      "li",
      { class: event.kind },
      event.seat === null ? event.text : [h("b", {}, nameOf(game, event.seat)), ` ${event.text}`],
    );
  }

  /* Keeps the keyboard where it was when a part of the page is drawn anew. */
  function redraw(place, ...content) {
    const action = document.activeElement?.getAttribute("data-action");
    const inside = place.contains(document.activeElement);
    const scrolled = [...place.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
    place.replaceChildren(...content.flat(Infinity).filter(Boolean));
    place.querySelectorAll(".scroll").forEach((one, index) => {
      one.scrollLeft = scrolled[index] ?? 0;
    });
    if (inside && action !== null) place.querySelector(`[data-action="${action}"]`)?.focus();
  }

  return {
    h,
    s,
    mark,
    nameOf,
    button,
    tracks,
    concert,
    needed,
    redrawConcert,
    boards,
    purse,
    scoreSheet,
    result,
    logLine,
    redraw,
    rounded,
    signed,
    range,
    ordinal,
  };
})();
