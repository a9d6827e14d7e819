"use strict";
/* How the playing page and the host's page talk to the server. */
symphony9.server = (() => {
  const HOST_KEY = "symphony9-host"; // the host's token is stored under this key for the life of the tab

  const PATIENCE = 1000; // milliseconds until the page says why it waits

  /* Send a request, with a body as POST, otherwise as GET; return the answer or throw the server's error. */
  async function request(token, path, body) {
    let isWaiting = true;
    const timer = setTimeout(async () => {
      showNotice("Waiting for the server …");
      const { is_compiling } = await send(token, "/api/status").catch(() => ({}));
      if (isWaiting && is_compiling)
        showNotice("The rules are being compiled: the first game takes up to a minute to start.");
    }, PATIENCE);
    try {
      return await send(token, path, body);
    } finally {
      isWaiting = false;
      clearTimeout(timer);
      showNotice(null);
    }
  }

  async function send(token, path, body) {
    const response = await fetch(path, {
      method: body ? "POST" : "GET",
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { "content-type": "application/json" }),
      },
      body: body && JSON.stringify(body),
    });
    // A proxy may answer with something else than JSON.
    const answer = await response
      .json()
      .catch(() => ({ error: `${response.status} ${response.statusText}` }));
    if (!response.ok) throw new Error(answer.error);
    return answer;
  }

  /* Show a text above the page; null removes it. */
  function showText(id, text) {
    const element = document.getElementById(id);
    element.hidden = !text;
    element.textContent = text ?? "";
  }
  const showProblem = (text) => showText("problem", text);
  const showNotice = (text) => showText("notice", text);

  return { request, showProblem, HOST_KEY };
})();
