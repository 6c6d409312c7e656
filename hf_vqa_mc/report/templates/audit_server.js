"use strict";
// The form sends a file or a name; the page of an audit asks for its state until it has ended.

const trouble = document.getElementById("trouble"), state = document.getElementById("state");

async function send(address, body) {
  const buttons = document.querySelectorAll("button");
  buttons.forEach((one) => { one.disabled = true; });
  trouble.hidden = true;
  try {
    const reply = await fetch(address, {method: "PUT", body});
    if (!reply.ok) throw new Error(await reply.text());
    location.assign((await reply.json()).address);
  } catch (error) {
    trouble.textContent = error.message;
    trouble.hidden = false;
    buttons.forEach((one) => { one.disabled = false; });
  }
}

const on = (id, sent) => document.getElementById(id)?.addEventListener("submit", (event) => {
  event.preventDefault();
  sent(new FormData(event.target));
});
on("upload", (form) => send(`upload?${new URLSearchParams({name: form.get("file").name})}`, form.get("file")));
on("named", (form) => send(`named?${new URLSearchParams({dataset: form.get("dataset"), config: form.get("config")})}`));

async function ask() {
  try {
    const reply = await fetch("state");
    if (reply.status === 404) location.reload();
    const found = await reply.json();
    state.textContent = found.state;
    document.getElementById("step").textContent = found.text;
    if (found.state === "done") location.assign("report.html");
    if (found.state === "done" || found.state === "failed") {
      document.getElementById("running").hidden = true;
      return;
    }
  } catch { state.textContent = "no connection to the server; trying again"; }
  setTimeout(ask, 1000);
}
if (state && !["done", "failed"].includes(state.dataset.state)) setTimeout(ask, 1000);
