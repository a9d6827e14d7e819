"use strict";
/* How the playing page and the host's page talk to the server. */
// biome-ignore lint/correctness/noUnusedVariables: The scripts of the pages use it.
const server = (() => {
  /* Ask the server; an answer that is no JSON (from a proxy, say) still becomes an error that can be read. */
  async function ask(token, path, body) {
    const response = await fetch(path, {
      method: body ? "POST" : "GET",
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { "content-type": "application/json" }),
      },
      body: body && JSON.stringify(body),
    });
    const answer = await response
      .json()
      .catch(() => ({ error: `${response.status} ${response.statusText}` }));
    if (!response.ok) throw new Error(answer.error);
    return answer;
  }

  function complain(text) {
    const place = document.getElementById("problem");
    place.hidden = !text;
    place.textContent = text ?? "";
  }

  return { ask, complain, HOST_KEY: "symphony9-host" }; // under which the host's token is kept in the tab
})();
