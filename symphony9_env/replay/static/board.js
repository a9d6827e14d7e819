"use strict";
/* Draws a game: career tracks, boards, a seat's own things and log lines. Used by the playing page and
   by replays. All drawing functions take a `model`:

     theme, players   as in the server's messages (symphony9_env/web/messages.py)
     view             {seat, game, position, own, choices}, as in symphony9-view/1; a replay that shows all hands has seat null
     choose(choice, click)   called with the event when a choice is clicked
     isReplay         whether nobody plays here */
symphony9.board = (() => {
  const { h, range, formatOrdinal, formatPoints, formatCount, nameOf, titleOf, drawMark } =
    symphony9.common;

  function drawCubes(model, musician, count) {
    return h(
      "span",
      { class: "cubes", "aria-hidden": "true" },
      range(count).map(() => drawMark(model, musician, 13, false)),
    );
  }

  /* The button of a choice. */
  function drawChoice(model, choice, ...content) {
    return h(
      "button",
      {
        type: "button",
        class: `choice ${choice.kind}`,
        "data-action": choice.action,
        title: choice.note || null,
        "aria-label": choice.note ? `${choice.label}: ${choice.note}` : choice.label,
        onclick: (click) => model.choose(choice, click),
      },
      content.length ? content : choice.label,
    );
  }

  // Career tracks.

  function drawTrack(model, musician) {
    const { name, reputation, uncovered, ahead, cubes_left } = musician;
    const text =
      `${titleOf(model, name)}'s track: reputation ${reputation} now, ${formatCount(cubes_left, "cube")} left` +
      ahead.map(([cubes, next]) => `; after ${cubes} more, ${next}`).join("");
    return h(
      "div",
      { class: "track", role: "img", "aria-label": text },
      uncovered.slice(0, -1).map((passed) => h("span", { class: "space passed" }, passed)),
      h("span", { class: "space current" }, uncovered.length ? reputation : "0"),
      ahead.map(([cubes, next], index) => [
        drawCubes(model, name, cubes - (index ? ahead[index - 1][0] : 0)),
        h("span", { class: "space" }, next),
      ]),
    );
  }

  function drawScoringTile(model, { musician, tile, counts, points }) {
    const isFlat = new Set(points).size === 1;
    const text = isFlat ? formatPoints(points[0]) : points.map(formatPoints).join(" / ");
    const own = model.view.own.points.breakdown[musician];
    return h(
      "div",
      { class: "tile" },
      h(
        "span",
        {
          class: own ? "own-points some" : "own-points",
          title: "points from this tile if the game ended now",
        },
        `${model.isReplay ? "now" : "you"}: ${formatPoints(own)} pts`,
      ),
      h(
        "span",
        {},
        h("b", {}, tile),
        ` ${counts}: `,
        h(
          "span",
          {
            class: "points",
            title: isFlat
              ? "points for each"
              : "points for each, with 1 / 2 / 3 compositions of his",
          },
          text,
        ),
      ),
    );
  }

  function drawMusician(model, musician, scoringTile) {
    const { name, rank, fame, is_dead } = musician;
    const { choices, position } = model.view;
    const choice = choices.find((one) => one.kind === "take" && one.musician === name);
    const performed =
      position.performing.includes(name) &&
      h(
        "span",
        {
          class: "performed",
          title: "performed in the last concert",
          role: "img",
          "aria-label": ", performed in the last concert",
        },
        " ♫",
      );
    return h(
      "li",
      { class: `musician fame-${fame}${is_dead ? " dead" : ""}` },
      drawMark(model, name, 38),
      h(
        "div",
        { class: "musician-name" },
        h("b", {}, titleOf(model, name), performed),
        h("span", { class: "fame" }, `${formatOrdinal(rank)} · ${fame} fame`),
        is_dead && h("span", { class: "badge" }, "dead"),
      ),
      h("div", { class: "lines" }, drawTrack(model, musician), drawScoringTile(model, scoringTile)),
      choice
        ? drawChoice(
            model,
            choice,
            choice.label.startsWith("Buy") ? "Buy" : "Take",
            h("small", {}, choice.note),
          )
        : h("span", { class: "no-choice" }),
    );
  }

  function drawTracks(model) {
    const { game, position } = model.view;
    return h(
      "section",
      { class: "card tracks", "aria-label": "Career tracks" },
      h(
        "h2",
        {},
        "Career tracks",
        h(
          "small",
          {},
          "a number is the reputation once the cubes before it are gone; below, the scoring tile",
        ),
      ),
      h(
        "ul",
        {},
        position.musicians.map((musician, index) =>
          drawMusician(model, musician, game.scoring_tiles[index]),
        ),
      ),
    );
  }

  // Boards.

  function drawHolding(model, board, index) {
    const [earlier, added, compositions] = [
      board.earlier_cubes[index],
      board.new_cubes[index],
      board.compositions[index],
    ];
    const name = titleOf(model, model.view.position.musicians[index].name);
    const text = `${formatCount(earlier + added, "cube")}${added ? `, ${added} of them new` : ""}, ${formatCount(compositions, "composition")} of ${name}`;
    return h(
      "td",
      { "aria-label": text },
      earlier + added
        ? h(
            "span",
            { class: "held" },
            earlier,
            added ? h("span", { class: "added" }, `+${added}`) : null,
          )
        : h("span", { class: "none" }, "·"),
      compositions
        ? h(
            "span",
            {
              class: "compositions",
              title: `${formatCount(compositions, "composition")} by ${name}`,
            },
            `♪${compositions}`,
          )
        : null,
    );
  }

  const formatValues = (values, separator) => values.map((value) => `$${value}`).join(separator);

  function describeBoard(model, board) {
    const { position, seat } = model.view;
    const notes = [];
    if (board.money !== null && board.seat !== seat)
      notes.push(`$${board.money}, furniture ${formatValues(board.furniture, " ") || "none"}`);
    if (board.has_closed_hand) notes.push("hand closed");
    if (board.announced !== null) notes.push(`announced $${board.announced}`);
    if (board.sold_this_round.length)
      notes.push(`sold this round: ${formatValues(board.sold_this_round, ", ")}`);
    if (board.kept) notes.push(`keeps a ${titleOf(model, board.kept)} cube`);
    if (board.last_contribution) {
      const { amount, furniture } = board.last_contribution;
      const verb = position.performing.length ? "gave" : "offered"; // a failed concert is not paid
      notes.push(
        `last concert: ${verb} $${amount}${furniture ? ` with furniture $${furniture}` : ""}`,
      );
    }
    return notes.join(" · ");
  }

  function drawBoard(model, board) {
    const { position, seat } = model.view;
    const isDeciding = position.to_decide === board.seat;
    const name =
      nameOf(model, board.seat) + (board.seat === seat && !model.isReplay ? " (you)" : "");
    return [
      h(
        "tr",
        { class: isDeciding ? "deciding" : "" },
        h(
          "th",
          { scope: "row" },
          h("span", { class: `dot seat-${board.seat}`, "aria-hidden": "true" }),
          name,
        ),
        position.musicians.map((_, index) => drawHolding(model, board, index)),
      ),
      h(
        "tr",
        { class: "status" },
        h(
          "td",
          { colspan: position.musicians.length + 1 },
          isDeciding && h("span", { class: "badge to-decide" }, "to decide"),
          position.start_player === board.seat && h("span", { class: "badge" }, "start player"),
          describeBoard(model, board),
        ),
      ),
    ];
  }

  /* All boards, the seat's own first, then clockwise, the bot last. */
  function drawBoards(model) {
    const { game, position, seat } = model.view;
    const clockwise = range(game.num_players).map(
      (offset) => ((seat ?? 0) + offset) % game.num_players,
    );
    const boards = [
      ...clockwise.map((index) => position.boards[index]),
      ...position.boards.slice(game.num_players),
    ];
    const heads = position.musicians.map(({ name }) =>
      h(
        "th",
        { scope: "col" },
        drawMark(model, name),
        h("span", { class: "visually-hidden" }, titleOf(model, name)),
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
          h("thead", {}, h("tr", {}, h("td", {}), heads)),
          h(
            "tbody",
            {},
            boards.map((board) => drawBoard(model, board)),
          ),
        ),
      ),
    );
  }

  // The seat's own things.

  function drawFurniture(model, { value, points }) {
    const { own, choices } = model.view;
    const isOwned = own.furniture.includes(value);
    const choice = choices.find((one) => one.kind === "sell" && one.furniture === value);
    return h(
      "span",
      { class: isOwned ? "furniture" : "furniture gone" },
      h("b", {}, `$${value}`),
      isOwned ? ` furniture, ${points} points` : " furniture, gone",
      choice && drawChoice(model, choice, "Sell"),
    );
  }

  function describePoints(model) {
    const sources = Object.entries(model.view.own.points.breakdown).filter(([, points]) => points);
    const label = (source) =>
      source in model.theme.musicians
        ? `${titleOf(model, source)}'s tile`
        : source.replace("_", " ");
    return sources.length
      ? `: ${sources.map(([source, points]) => `${label(source)} ${formatPoints(points)}`).join(", ")}.`
      : ".";
  }

  function drawOwnThings(model, title = "Your things") {
    const { game, own, position } = model.view;
    const furniture = own.hand?.furniture;
    return h(
      "section",
      { class: "card own-things", "aria-label": title },
      h("h2", {}, title),
      h(
        "div",
        { class: "purse" },
        h("span", { class: "money" }, `$${own.money}`),
        game.furniture.map((token) => drawFurniture(model, token)),
      ),
      own.hand &&
        h(
          "p",
          {},
          `Closed hand: $${own.hand.amount}${furniture ? `, with the $${furniture} furniture` : ""}.`,
        ),
      !position.score_sheet &&
        h(
          "p",
          {},
          h("b", {}, `${formatPoints(own.points.total)} points`),
          " if the game ended now",
          describePoints(model),
        ),
    );
  }

  // The log.

  function drawLogLine(model, line) {
    if (line.kind === "round") return h("li", { class: "round" }, line.text);
    return h(
      "li",
      { class: line.kind },
      line.seat === null ? line.text : [h("b", {}, nameOf(model, line.seat)), ` ${line.text}`],
    );
  }

  return { drawChoice, drawTracks, drawBoards, drawOwnThings, drawLogLine };
})();
