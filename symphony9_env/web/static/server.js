"use strict";
/* How the playing page and the host's page talk to the server. */
symphony9.server = (() => {
  const HOST_KEY = "symphony9-host"; // the host's token is stored under this key for the life of the tab

  /* Send a request, with a body as POST, otherwise as GET; return the answer or throw the server's error. */
  async function request(token, path, body) {
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

  /* Show an error message above the page; null removes it. */
  function showProblem(text) {
    const element = document.getElementById("problem");
    element.hidden = !text;
    element.textContent = text ?? "";
  }

  return { request, showProblem, HOST_KEY };
})();
