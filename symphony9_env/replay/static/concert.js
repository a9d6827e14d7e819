"use strict";
/* Draws the royal concert: the scale of totals, what everybody gave, and the royal budget. See board.js for the `model`. */
symphony9.concert = (() => {
  const { h, s, range, formatSigned, formatCount, joinNames, nameOf, titleOf } = symphony9.common;
  const UNIT = 20; // width of one dollar on the scale

  /* The scale of totals with its classes and, above it, who gave what to the last concert. */
  function drawScale(model) {
    const { game, position } = model.view;
    const highest = game.classes.at(-1).to;
    const end = Math.max(highest + 4, position.total ?? 0);
    const x = (total) => (total + 2) * UNIT;
    const label = (total, text) => s("text", { x: x(total), y: 62, class: "label" }, text);
    const band = (from, to, name) =>
      s("rect", {
        x: x(from),
        y: 46,
        width: (to - from) * UNIT,
        height: 22,
        class: `class-${name}`,
      });
    const parts = [
      band(-2, end + 1, "fail"),
      game.classes.map(({ name, from, to }) => [
        band(from, to + 1, name),
        label((from + to + 1) / 2, name),
      ]),
      label(game.classes[0].from / 2, "too little: fails"),
      label((highest + end + 2) / 2, "too much"),
      range(Math.floor(end / 2) + 1).map((half) =>
        s("text", { x: x(2 * half) + UNIT / 2, y: 84, class: "number" }, 2 * half),
      ),
      position.outcome && drawContributions(model, x),
    ];
    const text = position.outcome
      ? `Total of the last concert: ${position.total}`
      : "No concert yet";
    return s(
      "svg",
      {
        class: model.isConcertNew ? "scale new" : "scale",
        viewBox: `0 0 ${x(end + 1)} 90`,
        role: "img",
        "aria-label": text,
      },
      parts,
    );
  }

  /* The royal budget and the contributions side by side, and a pointer to the total. */
  function drawContributions(model, x) {
    const { position } = model.view;
    const given = position.boards
      .filter((board) => board.last_contribution)
      .map((board) => [board.seat, board.last_contribution.amount]);
    const token = position.total - given.reduce((sum, [, amount]) => sum + amount, 0);
    const bars = [
      [token, "royal", `+${token}`],
      ...given.map(([seat, amount]) => [amount, `seat-${seat}`, describeGift(model, seat, amount)]),
    ];
    let start = Math.min(token, 0);
    const parts = bars
      .filter(([amount]) => amount > 0)
      .map(([amount, kind, text], index) => {
        const from = start;
        start += amount;
        return s(
          "g",
          { class: "contribution", style: `--index:${index}` },
          s("rect", {
            x: x(from) + 1 + UNIT / 2,
            y: 12,
            width: amount * UNIT - 2,
            height: 26,
            rx: 4,
            class: kind,
          }),
          s("text", { x: x(from + amount / 2) + UNIT / 2, y: 30, class: "label" }, text),
        );
      });
    const at = x(position.total) + UNIT / 2;
    return [
      token < 0 && s("text", { x: 2, y: 10, class: "label start" }, `royal ${formatSigned(token)}`),
      parts,
      s("path", { d: `M${at} 46 l-7 -9 h14 z`, class: "pointer" }),
      s("text", { x: at, y: 10, class: "total" }, position.total),
    ];
  }

  /* A bar's text: an amount and, if there is room, as much of the name as fits. */
  function describeGift(model, seat, amount) {
    const room = Math.floor(amount * 2.4) - 3;
    const name = nameOf(model, seat);
    if (amount <= 2) return `$${amount}`;
    return `${name.length > room ? `${name.slice(0, Math.max(room - 1, 1))}…` : name} $${amount}`;
  }

  function drawOutcome(model) {
    const { position } = model.view;
    if (!position.outcome)
      return h("p", { class: "outcome" }, "The first concert comes at the end of this round.");
    const names = position.performing.map((musician) => titleOf(model, musician));
    const text = names.length
      ? `Last concert: ${position.total}, ${position.outcome} class, performed by ${joinNames(names)}.`
      : `Last concert: ${position.total}, ${position.outcome}: it failed and nobody paid.`;
    const tile = position.bot_tiles_seen.at(-1);
    const bot =
      tile &&
      h(
        "span",
        { class: "faint" },
        ` The bot's tile: $${tile.join(" / ")} by the fame of the musician it has most cubes of.`,
      );
    return h("p", { class: "outcome" }, text, bot);
  }

  /* What the contributions must add up to, once the royal budget is known. */
  function drawNeeded(model) {
    const { game, position } = model.view;
    const token = position.budget_token;
    if (token === null || position.score_sheet) return null;
    const givers = game.has_bot ? "you two and the bot" : "all players";
    const classes = game.classes.map(({ name, from, to, income }, index) => [
      index ? ", " : "",
      h(
        "span",
        { class: "nowrap" },
        h("b", {}, `${from - token}–${to - token}`),
        ` for ${name} class ($${income} a cube)`,
      ),
    ]);
    return h(
      "p",
      {},
      `The royal budget is ${formatSigned(token)}. Together ${givers} must give `,
      classes,
      ".",
    );
  }

  function drawBudget(model) {
    const { position } = model.view;
    const seen = position.budget_seen.map((token) =>
      h("span", { class: "chip" }, formatSigned(token)),
    );
    const left = [...new Set(position.budget_left)].sort((one, other) => other - one);
    const counts = left.map((token, index) => {
      const count = position.budget_left.filter((other) => other === token).length;
      return h(
        "span",
        { class: "nowrap" },
        `${index ? ", " : ""}${count} × ${formatSigned(token)}`,
      );
    });
    return h(
      "div",
      { class: "budget" },
      !model.isContributing && drawNeeded(model), // otherwise it is part of the question
      h(
        "p",
        { class: "faint" },
        "Royal tokens revealed: ",
        seen.length ? seen : "none",
        " · not revealed yet: ",
        counts,
      ),
      h(
        "p",
        { class: "faint" },
        `Counted for scoring so far: ${formatCount(position.successes, "concert")}, ${formatCount(position.performers, "performer")}.`,
      ),
    );
  }

  function drawConcert(model) {
    const { game } = model.view;
    const income = game.classes.map((one) => `${one.name} $${one.income}`).join(", ");
    return h(
      "section",
      { class: "card concert", "aria-label": "The royal concert" },
      h(
        "h2",
        {},
        "The royal concert",
        h("small", {}, `everybody gives $0 to $${game.limit}; income for a cube: ${income}`),
      ),
      drawScale(model),
      h("div", { class: "concert-text" }, drawOutcome(model), drawBudget(model)),
    );
  }

  /* Draw the concert again; leave the scale alone unless another concert was held, because it may still be moving. */
  function redrawConcert(element, model) {
    const count = String(model.log.filter((line) => line.kind === "concert").length);
    const before = element.dataset.concerts;
    element.dataset.concerts = count;
    if (before === count)
      element
        .querySelector(".concert-text")
        .replaceWith(drawConcert(model).querySelector(".concert-text"));
    else element.replaceChildren(drawConcert({ ...model, isConcertNew: before !== undefined }));
  }

  return { drawConcert, redrawConcert, drawNeeded };
})();
