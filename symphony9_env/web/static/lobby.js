"use strict";
/* The host's page: set up games, and find the links of their seats. */
(() => {
  const { h, byId, range } = symphony9.common;
  const { request, showProblem, HOST_KEY } = symphony9.server;
  if (location.hash.length > 1) sessionStorage.setItem(HOST_KEY, location.hash.slice(1));
  const token = sessionStorage.getItem(HOST_KEY) ?? "";
  const PERSON = "a person";
  const OTHER = "another agent …";
  const MAX_PLAYERS = 4;
  const MAX_NAME = 30;
  const MAX_AGENT = 300;
  const seats = range(MAX_PLAYERS).map((number) => ({
    kind: number ? "policy" : PERSON,
    name: "",
    agent: "",
  }));
  let offer = null; // the agents and options to choose from, as the server sent them

  const capitalize = (text) => text[0].toUpperCase() + text.slice(1);
  const drawOption = (value, chosen) => h("option", { value, selected: value === chosen }, value);

  // The seats.

  const numPlayers = () => Number(document.querySelector("input[name=num_players]:checked").value);

  function drawTextInput(seat, field, label, placeholder, maxlength) {
    const store = (event) => {
      seat[field] = event.target.value;
    };
    return h("input", {
      "aria-label": label,
      placeholder,
      value: seat[field],
      maxlength,
      autocomplete: "off",
      oninput: store,
    });
  }

  function drawSeat(number) {
    const seat = seats[number];
    const change = (event) => {
      seat.kind = event.target.value;
      drawSeats();
      byId(`seat-${number}`).focus();
    };
    const kinds = [PERSON, ...offer.agents, OTHER].map((kind) => drawOption(kind, seat.kind));
    const example = offer.allows_external_agents
      ? "search:200, a policy file, module:function, stdio:… or http://…"
      : "search:200 or a policy file";
    return h(
      "li",
      {},
      h("span", { class: `dot seat-${number}`, "aria-hidden": "true" }),
      h(
        "select",
        { id: `seat-${number}`, "aria-label": `Seat ${number + 1}`, onchange: change },
        kinds,
      ),
      seat.kind === PERSON &&
        drawTextInput(seat, "name", `Name at seat ${number + 1}`, `Player ${number + 1}`, MAX_NAME),
      seat.kind === OTHER &&
        drawTextInput(seat, "agent", `Agent at seat ${number + 1}`, example, MAX_AGENT),
    );
  }

  function drawSeats() {
    byId("seats").replaceChildren(...range(numPlayers()).map(drawSeat));
  }

  function readSeat({ kind, name, agent }) {
    if (kind === PERSON) return { name };
    return { agent: kind === OTHER ? agent.trim() : kind };
  }

  // The options of the variant; the number of players follows from the seats.

  function drawPlayerCount({ choices, default: chosen }) {
    return choices.map((count) => {
      const input = h("input", {
        type: "radio",
        name: "num_players",
        value: count,
        checked: count === chosen,
        onchange: drawSeats,
      });
      return h("label", {}, input, count === 2 ? " 2 and a bot" : ` ${count}`);
    });
  }

  function drawInput({ name, kind, choices, default: value }) {
    const id = `option-${name}`;
    if (kind === "choice")
      return h(
        "select",
        { id },
        choices.map((choice) => drawOption(choice, value)),
      );
    if (kind === "flag") return h("input", { id, type: "checkbox", checked: value });
    return h("input", { id, value, autocomplete: "off" });
  }

  const variantOptions = () => offer.options.filter(({ name }) => name !== "num_players");

  function drawOptions() {
    byId("num-players").append(
      ...drawPlayerCount(offer.options.find(({ name }) => name === "num_players")),
    );
    byId("options").replaceChildren(
      ...variantOptions().map((option) =>
        h("label", {}, capitalize(option.help), drawInput(option)),
      ),
    );
  }

  /* The chosen options; a text that was left empty stands for the default. */
  function readOptions() {
    const entries = variantOptions().map(({ name, kind }) => {
      const input = byId(`option-${name}`);
      return [name, kind === "flag" ? input.checked : input.value.trim()];
    });
    return Object.fromEntries(entries.filter(([, value]) => value !== ""));
  }

  function readSeed() {
    const text = byId("seed").value.trim();
    if (!text) return null;
    if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
    throw new Error(`Seed ${text}: it must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`);
  }

  // The games.

  /* Copy a link. Browsers allow that on this machine and with HTTPS; elsewhere the link is selected, to be copied by hand. */
  async function copyLink(input, button) {
    input.select();
    try {
      await navigator.clipboard.writeText(input.value);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl-C";
    }
  }

  function drawLink(table, seat, canCopy) {
    const input = h("input", {
      readonly: true,
      value: location.origin + seat.link,
      "aria-label": `Link of ${seat.name}`,
    });
    const button = h(
      "button",
      { type: "button", onclick: () => copyLink(input, button) },
      "Copy link",
    );
    const text = table.is_over ? `The result, as ${seat.name} sees it` : `Play as ${seat.name}`;
    return h(
      "li",
      {},
      h("a", { href: seat.link }, text),
      canCopy && h("span", { class: "link" }, input, button),
    );
  }

  /* Close a game after asking: its links end and its record stays. */
  async function closeTable(table) {
    const question = `Close game ${table.id}? Its links will no longer work. Its record stays in ${table.file}.`;
    if (!confirm(question)) return;
    showProblem(null);
    try {
      await request(token, `/api/tables/${table.id}/close`, {});
      await drawTables();
    } catch (error) {
      showProblem(error.message);
    }
  }

  function drawTable(table) {
    const people = table.seats.filter((seat) => seat.link);
    return h(
      "article",
      { class: "game" },
      h(
        "h3",
        {},
        `Game ${table.id}`,
        h("small", {}, table.is_over ? "over" : `round ${table.round}`),
      ),
      h("p", { class: "faint" }, table.seats.map((seat) => seat.name).join(", ")),
      h(
        "ul",
        {},
        people.map((seat) => drawLink(table, seat, people.length > 1)),
      ),
      table.is_over &&
        h(
          "p",
          { class: "faint" },
          "Watch it again: ",
          h("code", {}, `symphony9 watch ${table.file}`),
        ),
      h(
        "button",
        {
          type: "button",
          "aria-label": `Close game ${table.id}`,
          onclick: () => closeTable(table),
        },
        "Close",
      ),
    );
  }

  async function drawTables() {
    const { tables } = await request(token, "/api/tables");
    const list = tables.length ? tables.map(drawTable) : [h("p", { class: "faint" }, "None yet.")];
    byId("list").replaceChildren(...list);
  }

  function showStatus(text) {
    byId("status").textContent = text;
    byId("tables").focus();
    byId("tables").scrollIntoView({ block: "nearest" });
  }

  byId("setup").addEventListener("submit", async (event) => {
    event.preventDefault();
    showProblem(null);
    event.submitter.disabled = true; // a second click would set up a second game
    try {
      const body = {
        seats: seats.slice(0, numPlayers()).map(readSeat),
        seed: readSeed(),
        options: readOptions(),
      };
      const table = await request(token, "/api/tables", body);
      const people = table.seats.filter((seat) => seat.link);
      await drawTables();
      if (people.length === 1) location.href = people[0].link;
      else showStatus(`Game ${table.id} is set up. Send each person their link.`);
    } catch (error) {
      showProblem(error.message);
    } finally {
      event.submitter.disabled = false;
    }
  });

  async function start() {
    if (!token)
      return showProblem(
        "This page needs the host's link, including everything after the #. It was printed when the server started.",
      );
    try {
      offer = await request(token, "/api/agents");
      drawOptions();
      drawSeats();
      await drawTables();
    } catch (error) {
      showProblem(error.message);
    }
  }
  addEventListener("hashchange", () => location.reload());
  start();
})();
