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
  // Long names stand in lines of some twenty letters where a chart is narrow: beside them there is room for bars then.
  const inLines = (label) => label.split(/(?<=[. ])/).flatMap((part) => /[<&]/.test(part) ? [part] : part.match(/.{1,20}/gu) ?? [])
    .reduce((made, part) => {
      const last = made.at(-1), letters = (last + part).replace(/<[^>]*>/g, "").replace(/&\w+;/g, "&").trim().length;
      return letters > 20 && last ? [...made, part] : [...made.slice(0, -1), last + part];
    }, [""]);
  const narrowed = (figure) => {
    const { layout, data } = figure;
    layout.height += 20 * data.length; // a legend in lines needs room
    if (layout.yaxis.type !== "category") return;
    const names = [...new Set(data.flatMap((trace) => trace.y).filter((name) => name !== null))];
    const texts = names.map(inLines), most = Math.max(1, ...texts.map((lines) => lines.length));
    Object.assign(layout.yaxis, { tickmode: "array", tickvals: names, ticktext: texts.map((lines) => lines.join("<br>")) });
    if (most > 1) { layout.yaxis.tickfont = { size: 10 }; layout.height += 11 * (most - 1) * names.length; }
  };
  const config = { displayModeBar: false, responsive: true, locale: "en" };
  for (const div of charts) {
    const figure = JSON.parse(document.getElementById(div.dataset.figure).textContent);
    div.innerHTML = "";
    if (div.clientWidth < 560) narrowed(figure);
    await Plotly.newPlot(div, figure.data, figure.layout, config);
  }
  const fit = () => charts.forEach((div) => Plotly.Plots.resize(div));
  window.addEventListener("beforeprint", fit);
  window.addEventListener("afterprint", fit);
  document.documentElement.dataset.charts = "drawn";
})();
