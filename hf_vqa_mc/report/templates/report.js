"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data.examples.length) return;
  const byId = (id) => document.getElementById(id);
  const perPage = 6;
  const state = { page: 0, note: "", type: "", outcome: "", text: "", order: "" };

  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const drawn = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const isolated = (className, text) => {
    const made = element("bdi", className, text);
    made.dir = "auto";
    return made;
  };
  const choice = (one) => {
    const line = element("li", `${one.target ? "target " : ""}kind-${one.kind || "none"}`);
    line.append(element("span", "letter", one.letter));
    const text = element("span");
    text.append(isolated("", one.text));
    if (one.origin) text.append(isolated("origin", one.origin));
    line.append(text);
    if (one.kind && data.kinds[one.kind]) line.title = data.kinds[one.kind];
    if (one.picked) {
      const mark = element("span", `mark ${one.target ? "correct" : "wrong"}`, one.target ? "✓ pick" : "✗ pick");
      line.append(mark);
    }
    return line;
  };

  const bias = (value) => {
    const box = element("div", "bias");
    box.append(element("span", "", `bias: ${Math.round(100 * value)}%`));
    const plot = drawn("svg", { "aria-hidden": "true" });
    plot.append(drawn("rect", { class: "track", width: "100%", height: 6, rx: 3 }));
    plot.append(drawn("rect", { class: "fill", width: `${100 * Math.min(Math.max(value, 0), 1)}%`, height: 6, rx: 3 }));
    box.append(plot);
    return box;
  };

  const card = (example) => {
    const box = element("article", "card");
    if (example.pictures.length || example.missing) {
      const picture = element("div", "picture");
      example.pictures.forEach((one) => {
        const image = element("img");
        image.src = one.image;
        image.alt = "";
        image.width = one.width;
        image.height = one.height;
        picture.append(image);
      });
      picture.append(example.missing);
      box.append(picture);
    }
    const body = element("div", "body");
    body.append(isolated("question", example.question));
    const list = element("ul", "choices");
    list.append(...example.choices.map(choice));
    body.append(list);
    if (example.bias !== null) body.append(bias(example.bias));
    const about = element("p", "about");
    [example.note, example.type, example.id].filter(Boolean).forEach((text, index) => {
      if (index) about.append(" · ");
      about.append(isolated("", text));
    });
    body.append(about);
    box.append(body);
    return box;
  };

  const fits = (example) => {
    const text = state.text.toLowerCase();
    const texts = [example.question, example.id, ...example.choices.map((each) => each.text)];
    return (
      (!state.note || example.note === state.note) &&
      (!state.type || example.type === state.type) &&
      (!state.outcome || example.outcome === state.outcome) &&
      (!text || texts.some((each) => each.toLowerCase().includes(text)))
    );
  };
  const biasOf = (example) => example.bias ?? -1;

  const show = () => {
    const found = data.examples.filter(fits);
    if (state.order) found.sort((one, other) => (biasOf(other) - biasOf(one)) * (state.order === "high" ? 1 : -1));
    const pages = Math.max(1, Math.ceil(found.length / perPage));
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const first = state.page * perPage;
    const shown = found.slice(first, first + perPage);
    const none = element("p", "none", "No matching questions.");
    byId("cards").replaceChildren(...(shown.length ? shown.map(card) : [none]));
    byId("where").textContent = shown.length ? `${first + 1} to ${first + shown.length} of ${found.length}` : "0 of 0";
    byId("back").disabled = state.page === 0;
    byId("next").disabled = state.page === pages - 1;
  };
  const turn = (pages) => {
    state.page += pages;
    show();
  };

  const control = (name, options) => {
    const label = byId(`by-${name}`);
    label.hidden = options.length < 2;
    const select = label.querySelector("select");
    select.append(new Option("all", ""), ...options.map(([value, text]) => new Option(text, value)));
    select.addEventListener("change", () => {
      Object.assign(state, { [name]: select.value, page: 0 });
      show();
    });
    return select;
  };
  const distinct = (values) => [...new Set(values)].filter(Boolean).sort().map((value) => [value, value]);
  control("note", distinct(data.examples.map((example) => example.note)));
  control("type", distinct(data.examples.map((example) => example.type)));
  control("outcome", distinct(data.examples.map((example) => example.outcome)));
  const biased = data.examples.some((example) => example.bias !== null);
  const order = control("order", biased ? [["high", "most biased first"], ["low", "least biased first"]] : []);
  order.options[0].textContent = "default";
  byId("by-text").hidden = data.examples.length <= perPage;
  byId("by-text").querySelector("input").addEventListener("input", (event) => {
    Object.assign(state, { text: event.target.value, page: 0 });
    show();
  });
  byId("back").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof Element && event.target.closest("input, select, .scroll");
    if (typing || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.key === "ArrowLeft") turn(-1);
    if (event.key === "ArrowRight") turn(1);
  });
  const kinds = new Set(data.examples.flatMap((example) => example.choices.map((each) => each.kind)));
  const named = Object.keys(data.kinds).filter((kind) => kind && kind !== "target" && kinds.has(kind));
  byId("kinds").append(...named.map((kind) => element("span", `kind-${kind}`, data.kinds[kind])));
  byId("kinds").hidden = !named.length;
  byId("examples").hidden = false;
  show();
})();
