"use strict";
/* Draws the result of a game and the score sheet. See board.js for the `model`. */
symphony9.scoreSheet = (() => {
  const { h, range, formatOrdinal, formatPoints, joinNames, nameOf, titleOf, drawMark } =
    symphony9.common;

  /* Who has won and, for a player who has not, the rank and points. */
  function describeResult(model) {
    const { position, seat } = model.view;
    const sheet = position.score_sheet;
    const winners = range(sheet.length).filter((player) => sheet[player].rank === 1);
    const names = joinNames(winners.map((player) => nameOf(model, player)));
    const result = `${names} ${winners.length > 1 ? "share the win" : "wins"} with ${formatPoints(sheet[winners[0]].total)} points`;
    if (model.isReplay || seat === null || sheet[seat].rank === 1) return result;
    return `${result}; you are ${formatOrdinal(sheet[seat].rank)} with ${formatPoints(sheet[seat].total)}`;
  }

  function labelSource(model, source) {
    const tile = model.view.game.scoring_tiles.find(({ musician }) => musician === source);
    if (tile)
      return [
        drawMark(model, source, 22),
        h("span", { class: "title" }, ` ${titleOf(model, source)},`),
        ` ${tile.tile}`,
      ];
    return source === "last_works" ? "works of the dead" : source;
  }

  function drawScoreSheet(model) {
    const { position, seat } = model.view;
    const sheet = position.score_sheet;
    const winner = (line) => (line.rank === 1 ? "winner" : "");
    const head = (line, player) =>
      h(
        "th",
        { scope: "col", class: winner(line) },
        nameOf(model, player),
        player === seat && !model.isReplay ? " (you)" : "",
      );
    const row = (kind, label, value) =>
      h(
        "tr",
        { class: kind },
        h("th", { scope: "row" }, label),
        sheet.map((line) => h("td", { class: winner(line) }, formatPoints(value(line)))),
      );
    return h(
      "section",
      { class: "card score-sheet", "aria-label": "Score sheet", tabindex: "-1" },
      h("h2", {}, describeResult(model)),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "group", "aria-label": "Score sheet, table" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "points"), sheet.map(head))),
          h(
            "tbody",
            {},
            Object.keys(sheet[0].breakdown).map((source) =>
              row("", labelSource(model, source), (line) => line.breakdown[source]),
            ),
            row("sum", "total", (line) => line.total),
            row("", "rank", (line) => line.rank),
          ),
        ),
      ),
    );
  }

  return { drawScoreSheet, describeResult };
})();
