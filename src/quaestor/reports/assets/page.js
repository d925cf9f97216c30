"use strict";
// Unpacks plotly.js, which travels compressed inside this file, and draws every chart beside its data.
(async () => {
  const charts = [...document.querySelectorAll(".chart")];
  const say = (text) => charts.forEach((div) => { div.innerHTML = ""; div.append(Object.assign(document.createElement("p"), { className: "nodata", textContent: text })); });
  if (!charts.length) { document.documentElement.dataset.charts = "none"; return; }
  try {
    const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  } catch (error) {
    say("This browser cannot draw the chart; the table below has the same figures.");
    document.documentElement.dataset.charts = "failed";
    return;
  }
  const config = { displayModeBar: false, responsive: true, locale: "en" };
  for (const div of charts) {
    const figure = JSON.parse(document.getElementById(div.dataset.figure).textContent);
    div.innerHTML = "";
    if (div.clientWidth < 560) figure.layout.height += 20 * figure.data.length; // a legend in lines needs room
    await Plotly.newPlot(div, figure.data, figure.layout, config);
  }
  const fit = () => charts.forEach((div) => Plotly.Plots.resize(div));
  window.addEventListener("beforeprint", fit);
  window.addEventListener("afterprint", fit);
  document.documentElement.dataset.charts = "drawn";
})();
