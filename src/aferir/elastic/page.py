"""The live page: it requests the status once a second and draws four curves."""

LIVE = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>ElasticMovie, live</title>
<style>
body { font: 15px/1.4 system-ui, sans-serif; margin: 1.5rem; color: #222; background: #fff }
main { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1.5rem }
h1 { font-size: 1.2rem } h2 { font-size: 1rem; margin: 0 } p { margin: .2rem 0 }
svg { width: 100%; height: 8rem; background: #f6f6f6 }
polyline { fill: none; stroke: #0b62a4; stroke-width: 1.5; vector-effect: non-scaling-stroke }
</style>
<h1>ElasticMovie, live</h1>
<p id="books">waiting for the first answer</p>
<main id="charts"></main>
<script>
const curves = [
  ["clients", "clients, served and waiting", s => s.clients + s.waiting],
  ["instances", "instances ready", s => s.nodes],
  ["blocked", "clients blocked", s => s.books.blocked],
  ["bandwidth", "bandwidth of all instances, Mbit/s", (s, b) =>
    b ? 8e-6 * (s.sent_bytes - b.sent_bytes) / (s.now_s - b.now_s) : 0],
];
const shown = curves.map(([id, title]) => {
  const box = document.createElement("section");
  box.innerHTML = `<h2>${title}: <output id="${id}"></output></h2>
    <svg viewBox="0 0 600 100" preserveAspectRatio="none"><polyline/></svg>`;
  document.getElementById("charts").append(box);
  return [];
});
let before = null;
async function look() {
  try {
    const answer = await fetch("/status" + location.search);
    if (!answer.ok) throw new Error(answer.status);
    const now = await answer.json();
    const b = now.books;
    document.getElementById("books").textContent = `${now.now_s.toFixed(0)} s:
      ${b.received} received, ${b.served} served, ${b.abandoned} abandoned,
      ${b.blocked} blocked, ${b.failed} failed`;
    curves.forEach(([id, , value], k) => {
      const values = shown[k];
      values.push(value(now, before));
      if (values.length > 600) values.shift();
      const top = Math.max(1, ...values), step = 600 / Math.max(1, values.length - 1);
      document.getElementById(id).textContent = values.at(-1).toFixed(id == "bandwidth" ? 1 : 0);
      document.querySelectorAll("polyline")[k].setAttribute("points",
        values.map((v, x) => `${x * step},${98 - 96 * v / top}`).join(" "));
    });
    before = now;
  } catch (error) {
    document.getElementById("books").textContent = "Front does not answer: " + error.message;
  }
  setTimeout(look, 1000);
}
look();
</script>
"""
