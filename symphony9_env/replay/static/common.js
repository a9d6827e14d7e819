"use strict";
/* Helpers for all pages. Text from people or files is only ever inserted as text, never as markup. */
const symphony9 = {};

symphony9.common = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "style")
        node.style.cssText = value; // not as an attribute: the content security policy forbids those
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

  /* Make an HTML element. Attributes that start with "on" are event listeners; empty ones and empty children are left out. */
  const h = (tag, attributes, ...children) =>
    fill(document.createElement(tag), attributes, children);

  /* Make an SVG element. */
  const s = (tag, attributes, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

  const byId = (id) => document.getElementById(id);
  const range = (count) => Array.from({ length: count }, (_, index) => index);
  const formatOrdinal = (rank) => `${rank}${["st", "nd", "rd"][rank - 1] ?? "th"}`;
  const formatSigned = (amount) => (amount > 0 ? "+" : amount < 0 ? "−" : "") + Math.abs(amount);
  const formatPoints = (points) => String(Math.round(points * 100) / 100);
  const formatCount = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const joinNames = (names) =>
    names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : (names[0] ?? "");

  /* The name of the player at a seat; the bot has the seat after the last player. */
  const nameOf = (model, seat) =>
    seat < model.players.length ? model.players[seat].name : "the bot";

  /* A musician's name as it is written. */
  const titleOf = (model, musician) => model.theme.musicians[musician].title;

  /* A musician's mark: a shape in his colour, with his two letters if there is room for them. */
  function drawMark(model, musician, size = 26, hasLetters = true) {
    const { code, colour, ink, shape } = model.theme.musicians[musician];
    const corners = model.theme.shapes[shape];
    const outline = corners.length
      ? s("polygon", {
          points: corners.map(([x, y]) => `${x * 11},${y * 11}`).join(" "),
          fill: colour,
        })
      : s("circle", { r: 11, fill: colour });
    const isTriangle = shape === "triangle"; // its letters are small and low, where it is wide
    const text =
      hasLetters &&
      s("text", { y: isTriangle ? 6.8 : 3.6, class: isTriangle ? "small" : null, fill: ink }, code);
    return s(
      "svg",
      {
        class: "mark",
        width: size,
        height: size,
        viewBox: "-12.5 -12.5 25 25",
        "aria-hidden": "true",
      },
      outline,
      text,
    );
  }

  /* Replace the content of an element; keep the keyboard focus on the same choice, and the scroll positions. */
  function redraw(element, ...content) {
    const action = document.activeElement?.getAttribute("data-action");
    const hadFocus = element.contains(document.activeElement);
    const scrolled = [...element.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    element.replaceChildren(...content.flat(Infinity).filter(Boolean));
    element.querySelectorAll(".scroll").forEach((box, index) => {
      box.scrollLeft = scrolled[index] ?? 0;
    });
    if (hadFocus && action !== null) element.querySelector(`[data-action="${action}"]`)?.focus();
  }

  return {
    h,
    s,
    byId,
    range,
    formatOrdinal,
    formatSigned,
    formatPoints,
    formatCount,
    joinNames,
    nameOf,
    titleOf,
    drawMark,
    redraw,
  };
})();
