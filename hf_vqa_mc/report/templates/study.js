"use strict";
// One question at a time. Every answer is sent at once and counts only when the server has it on its disk.

const bar = document.querySelector(".bar"), trouble = document.getElementById("trouble"), end = document.getElementById("end");
const tasks = [...document.querySelectorAll(".task")];
const spent = new Map(), saved = new Set(), waiting = new Map();
let at = 0, since = 0, sending = false, retry = 0;

const pressed = (button, on) => button.setAttribute("aria-pressed", on ? "true" : "false");
const isPressed = (button) => button.getAttribute("aria-pressed") === "true";
const options = (task, selector = ".option") => [...task.querySelectorAll(selector)];
const only = (task, button, selector) => options(task, selector).forEach((one) => pressed(one, one === button));

// Each form: restore an answer, press a button, and the answer (undefined as long as it is incomplete). A press never
// leaves the question, so that it can be corrected; Enter and the buttons below the question do.
const one = {
  restore(task, value) { only(task, task.querySelector(`.option[data-value="${value}"]`)); },
  press(task, button) { only(task, button); },
  answer(task) { const found = options(task).find(isPressed); return found && Number(found.dataset.value); },
};
const FORMS = {
  choose: one,
  image: one,
  mark: {
    restore(task, value) {
      if (value === "bad_question") return pressed(task.querySelector("[data-whole=bad]"), true);
      for (const mark of ["correct", "unsure"]) {
        for (const index of value[mark]) pressed(task.querySelector(`[data-mark=${mark}][data-value="${index}"]`), true);
      }
      if (!value.correct.length && !value.unsure.length) pressed(task.querySelector("[data-whole=none]"), true);
    },
    press(task, button) {
      const on = !isPressed(button);
      if (button.dataset.whole) options(task).forEach((other) => pressed(other, false));
      else {
        options(task, "[data-whole]").forEach((other) => pressed(other, false));
        options(task, `[data-value="${button.dataset.value}"]`).forEach((other) => pressed(other, false));
      }
      pressed(button, on);
    },
    answer(task) {
      const marked = (mark) => options(task, `[data-mark=${mark}]`).filter(isPressed).map((one) => Number(one.dataset.value));
      const whole = options(task, "[data-whole]").find(isPressed), value = {correct: marked("correct"), unsure: marked("unsure")};
      if (whole) return whole.dataset.whole === "bad" ? "bad_question" : value;
      return value.correct.length || value.unsure.length ? value : undefined;
    },
  },
  write: {
    restore(task, value) {
      task.querySelector("input").value = value.text;
      const button = task.querySelector(`[data-confidence="${value.confidence}"]`);
      if (button) only(task, button);
    },
    press(task, button) {
      only(task, button);
      if (!task.querySelector("input").value.trim()) task.querySelector("input").focus();
    },
    answer(task) {
      const text = task.querySelector("input").value.trim(), sure = options(task).find(isPressed);
      if (!text || (!sure && options(task).length)) return undefined;
      return {text, confidence: sure ? sure.dataset.confidence : ""};
    },
  },
};

const formOf = (task) => FORMS[task.dataset.form];
const load = (task) => task && task.querySelectorAll("img[data-src]").forEach((image) => { image.src = image.dataset.src; delete image.dataset.src; });
const current = () => (at < tasks.length ? tasks[at] : null);

function clock() { // adds the time since the last call to the question on the screen
  const now = performance.now(), task = current();
  if (task && since) spent.set(task, (spent.get(task) || 0) + (now - since) / 1000);
  since = document.hidden ? 0 : now;
}

function show(index) {
  clock();
  at = Math.max(0, Math.min(index, tasks.length));
  if (at === tasks.length && saved.size < tasks.length && !waiting.size) at = tasks.findIndex((task) => !saved.has(task));
  tasks.forEach((task, number) => { task.hidden = number !== at; });
  end.hidden = at < tasks.length || saved.size < tasks.length;
  load(current());
  load(tasks[at + 1]);
  state();
  scrollTo(0, 0);
  const input = current() && current().querySelector("input");
  (input || current() || document.getElementById("more")).focus({preventScroll: true});
}

function state() {
  const done = saved.size, task = current();
  document.getElementById("where").textContent = task ? `Question ${at + 1} of ${tasks.length} · ${done} saved` : `${done} of ${tasks.length} saved`;
  document.getElementById("progress").value = done;
  document.getElementById("back").disabled = at === 0;
  document.querySelector(".steps").hidden = !task;
  for (const one of tasks) {
    const text = waiting.has(one) ? "saving …" : saved.has(one) ? "✓ saved" : "";
    one.querySelector(".state").textContent = text; // of constant height: a button that moved would miss its click
  }
}

function answer(button) {
  const task = current(), form = formOf(task);
  if (button) form.press(task, button);
  const value = form.answer(task);
  if (value === undefined) {
    saved.delete(task);
    waiting.delete(task);
    task.dataset.answer = "";
    return state();
  }
  clock();
  if (JSON.stringify(value) !== task.dataset.answer) {
    task.dataset.answer = JSON.stringify(value);
    saved.delete(task);
    waiting.set(task, value);
    send();
  }
  state();
}

async function send() {
  if (sending || !waiting.size) return;
  sending = true;
  const [task, value] = waiting.entries().next().value;
  const body = JSON.stringify({task: Number(task.dataset.task), value, seconds: Math.min(86400, spent.get(task) || 0)});
  let problem = "";
  try {
    const reply = await fetch(bar.dataset.save, {method: "POST", body, headers: {"Content-Type": "application/json"}});
    if (reply.ok || reply.status === 409) {
      if (waiting.get(task) === value) { waiting.delete(task); saved.add(task); }
      if (reply.status === 409) note(task, await reply.text());
    } else problem = await reply.text();
  } catch { problem = "the server cannot be reached"; }
  sending = false;
  trouble.hidden = !problem;
  trouble.textContent = problem && `Not saved yet: ${problem}. Trying again; please leave this page open.`;
  state();
  if (at === tasks.length) show(at);
  clearTimeout(retry);
  if (waiting.size) retry = setTimeout(send, problem ? 2000 : 0);
}

function leaveButton(task) { // so that Enter goes to the next question, and does not press a button again
  if (document.activeElement.tagName !== "INPUT") task.focus({preventScroll: true});
}

function note(task, text) {
  const line = document.createElement("p");
  line.className = "small";
  line.textContent = text;
  task.querySelector(".body").append(line);
}

function key(event) {
  const task = current(), typing = event.target.tagName === "INPUT";
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Enter" && (typing || event.target.tagName !== "BUTTON") && event.target.tagName !== "SUMMARY") {
    event.preventDefault();
    if (!task) return end.hidden || document.getElementById("more").click();
    if (formOf(task).answer(task) === undefined) return typing && event.target.value.trim() ? task.focus() : undefined;
    answer(null);
    return show(at + 1);
  }
  if (typing) return;
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") return show(at + (event.key === "ArrowLeft" ? -1 : 1));
  if (!task) return;
  const name = event.code.startsWith("Digit") ? event.code[5] : event.key.toLowerCase();
  const button = options(task).find((one) => { const label = one.querySelector("kbd"); return label && label.textContent === name; });
  if (!button) return;
  event.preventDefault();
  const unsure = event.shiftKey && task.querySelector(`[data-mark=unsure][data-value="${button.dataset.value}"]`);
  answer(unsure || button);
  leaveButton(task);
}

for (const task of tasks) {
  if (task.dataset.answer) {
    formOf(task).restore(task, JSON.parse(task.dataset.answer));
    task.dataset.answer = JSON.stringify(formOf(task).answer(task));
    saved.add(task);
  }
  task.addEventListener("click", (event) => {
    const button = event.target.closest("button.option");
    if (!button) return;
    answer(button);
    if (event.detail) leaveButton(task); // by mouse or touch; a button that was pressed by the keyboard keeps the focus
  });
  const input = task.querySelector("input");
  if (input) input.addEventListener("change", () => { if (current() === task) answer(null); });
}
document.getElementById("back").addEventListener("click", () => show(at - 1));
document.getElementById("next").addEventListener("click", () => show(at + 1));
document.addEventListener("keydown", key);
document.addEventListener("visibilitychange", clock);
addEventListener("beforeunload", (event) => { if (waiting.size) event.preventDefault(); });
const first = tasks.findIndex((task) => !saved.has(task));
show(first < 0 ? tasks.length : first);
