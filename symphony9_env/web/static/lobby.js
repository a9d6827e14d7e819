"use strict";
/* The host's page: set up games, and find the links of their seats. */
(() => {
  const { h, range } = symphony9;
  const { ask, complain, HOST_KEY } = server;
  const byId = (id) => document.getElementById(id);
  if (location.hash.length > 1) sessionStorage.setItem(HOST_KEY, location.hash.slice(1));
  const token = sessionStorage.getItem(HOST_KEY) ?? "";
  const PERSON = "a person";
  const OTHER = "a saved policy or search:N …";
  const seats = range(4).map((place) => ({ kind: place ? "policy" : PERSON, name: "", other: "" }));
  let known = null;

  function told(text) {
    byId("told").textContent = text;
    byId("tables").focus();
    byId("tables").scrollIntoView({ block: "nearest" });
  }

  const numPlayers = () => Number(document.querySelector("input[name=players]:checked").value);

  function option(value, chosen) {
    return h("option", { value, selected: value === chosen }, value);
  }

  function drawSeats() {
    const rows = range(numPlayers()).map((place) => {
      const seat = seats[place];
      const kinds = [PERSON, ...known.agents, OTHER];
      const change = (event) => {
        seat.kind = event.target.value;
        drawSeats();
        byId(`seat-${place}`).focus();
      };
      const text = (field, label, placeholder) =>
        h("input", {
          "aria-label": label,
          placeholder,
          value: seat[field],
          maxlength: field === "name" ? 30 : 300,
          autocomplete: "off",
          oninput: (event) => (seat[field] = event.target.value),
        });
      return h(
        "li",
        {},
        h("span", { class: `dot seat-${place}`, "aria-hidden": "true" }),
        h(
          "select",
          { id: `seat-${place}`, "aria-label": `Seat ${place + 1}`, onchange: change },
          kinds.map((kind) => option(kind, seat.kind)),
        ),
        seat.kind === PERSON
          ? text("name", `Name at seat ${place + 1}`, `Player ${place + 1}`)
          : null,
        seat.kind === OTHER
          ? text("other", `Agent at seat ${place + 1}`, "runs/mine/best.safetensors or search:200")
          : null,
      );
    });
    byId("seats").replaceChildren(...rows);
  }

  function wish() {
    const chosen = seats
      .slice(0, numPlayers())
      .map((seat) =>
        seat.kind === PERSON
          ? { name: seat.name }
          : { agent: seat.kind === OTHER ? seat.other : seat.kind },
      );
    const seed = byId("seed").value.trim();
    if (seed && !(/^\d{1,16}$/.test(seed) && Number.isSafeInteger(Number(seed))))
      throw new Error(
        `Seed ${seed}: needed is a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
      );
    const components = byId("components").value.trim();
    return {
      seats: chosen,
      seed: seed ? Number(seed) : null,
      options: {
        tracks: byId("tracks").value,
        scoring: byId("scoring").value,
        discussion: byId("discussion").checked,
        ...(components && { components }),
      },
    };
  }

  /* The clipboard is for pages from this machine or by HTTPS; elsewhere the link is marked, to be copied by hand. */
  async function copy(input, button) {
    input.select();
    try {
      await navigator.clipboard.writeText(input.value);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl-C";
    }
  }

  function drawTable(table) {
    const people = table.seats.filter((seat) => seat.link);
    return h(
      "article",
      { class: "table" },
      h("h3", {}, `Game ${table.id}`, h("small", {}, table.over ? "over" : `round ${table.round}`)),
      h("p", { class: "faint" }, table.seats.map((seat) => seat.name).join(", ")),
      h(
        "ul",
        {},
        people.map((seat) => {
          const input = h("input", {
            readonly: true,
            value: location.origin + seat.link,
            "aria-label": `Link of ${seat.name}`,
          });
          const button = h(
            "button",
            { type: "button", onclick: () => copy(input, button) },
            "Copy link",
          );
          return h(
            "li",
            {},
            h(
              "a",
              { href: seat.link },
              table.over ? `The end, as ${seat.name} sees it` : `Play as ${seat.name}`,
            ),
            people.length > 1 ? h("span", { class: "link" }, input, button) : null,
          );
        }),
      ),
      table.over &&
        h(
          "p",
          { class: "faint" },
          "Watch it again: ",
          h("code", {}, `symphony9 watch ${table.file}`),
        ),
    );
  }

  async function drawTables() {
    const { tables } = await ask(token, "/api/tables");
    const list = tables.length ? tables.map(drawTable) : [h("p", { class: "faint" }, "None yet.")];
    byId("list").replaceChildren(...list);
  }

  byId("setup").addEventListener("submit", async (event) => {
    event.preventDefault();
    complain(null);
    try {
      const table = await ask(token, "/api/tables", wish());
      const people = table.seats.filter((seat) => seat.link);
      await drawTables();
      if (people.length === 1) location.href = people[0].link;
      else told(`Game ${table.id} is dealt. Send each person their link.`);
    } catch (error) {
      complain(error.message);
    }
  });

  async function start() {
    if (!token)
      return complain(
        "This page needs the host's link, with all that stands behind the #. It was printed when the server started.",
      );
    try {
      known = await ask(token, "/api/agents");
      byId("tracks").replaceChildren(...known.tracks.map((name) => option(name)));
      byId("scoring").replaceChildren(...known.scoring.map((name) => option(name)));
      for (const input of document.querySelectorAll("input[name=players]"))
        input.addEventListener("change", drawSeats);
      drawSeats();
      await drawTables();
    } catch (error) {
      complain(error.message);
    }
  }
  addEventListener("hashchange", () => location.reload());
  start();
})();
