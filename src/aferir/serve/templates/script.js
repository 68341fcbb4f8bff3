"use strict";
// The pages work without this script, but for the filter and the progress of a run.

function filterRuns(words, status) {
  const rows = document.querySelectorAll("#runs tbody tr");
  let shown = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    const fits = words.every((word) => text.includes(word)) && (!status || row.dataset.status === status);
    row.hidden = !fits;
    shown += fits;
  }
  document.querySelector("#count").textContent = `${shown} of ${rows.length} runs`;
}

function startFilter() {
  const filter = document.querySelector("#filter");
  if (!filter) return;
  const status = document.querySelector("#status");
  const apply = () => filterRuns(filter.value.toLowerCase().split(/\s+/).filter(Boolean), status.value);
  filter.addEventListener("input", apply);
  status.addEventListener("change", apply);
  filter.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    event.preventDefault();
    filter.focus();
  });
  if (filter.value || status.value) apply();  // a browser that went back fills the form in again
}

function showState(state) {
  document.querySelector("#progress").textContent = state.text;
  const rows = document.querySelectorAll("#cells tr");
  state.cells.forEach(([, done, failed], k) => {
    const fields = rows[k].querySelectorAll("td");
    fields[0].textContent = done;
    fields[1].textContent = failed;
  });
}

async function followRun(section) {
  const answer = await fetch(section.dataset.state);
  if (!answer.ok) throw new Error(answer.statusText);
  const state = await answer.json();
  showState(state);
  return state.complete;
}

function startFollowing() {
  const section = document.querySelector("#live[data-state]");
  if (!section) return;
  const again = () => followRun(section).then(
    (complete) => complete ? location.reload() : setTimeout(again, 2000),
    (reason) => { document.querySelector("#progress").textContent = `no answer from aferir serve: ${reason.message}`; },
  );
  again();
}

startFilter();
startFollowing();
