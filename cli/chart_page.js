// Draws the charts that the element #data describes (cli/chart_page.h), with Chart.js.
'use strict';
(() => {
  const root = document.documentElement;
  window.addEventListener('error', (event) => { root.dataset.errors = event.message; });
  root.classList.toggle('dark', matchMedia('(prefers-color-scheme: dark)').matches);

  const charts = JSON.parse(document.getElementById('data').textContent);
  const colours = 8, dashes = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
  const themed = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const colour = (i) => themed('--s' + (i % colours));
  const dash = (i) => dashes[Math.floor(i / colours) % dashes.length];

  const bytesText = (bytes) => {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    while (bytes >= 1024 && unit + 1 < units.length) { bytes /= 1024; unit += 1; }
    return Number(bytes.toPrecision(4)) + ' ' + units[unit];
  };
  const numberText = (number) => Number(number.toPrecision(4)).toLocaleString('en-US');

  // Sizes are read in powers of two, whatever a logarithmic axis would take by itself.
  const powersOfTwo = (axis) => {
    const low = Math.ceil(Math.log2(axis.min)), high = Math.floor(Math.log2(axis.max));
    const stride = Math.max(1, Math.ceil((high - low + 1) / 12));
    axis.ticks = [];
    for (let power = low; power <= high; power += stride) axis.ticks.push({value: 2 ** power});
  };
  // 1, 2 and 5 of each decade where there are few, the decades alone where there are many.
  const decades = (axis) => {
    const low = Math.floor(Math.log10(axis.min)), high = Math.ceil(Math.log10(axis.max));
    const steps = high - low <= 4 ? [1, 2, 5] : [1];
    axis.ticks = [];
    for (let power = low; power <= high; power += 1) {
      for (const step of steps) {
        const value = step * 10 ** power;
        if (value >= axis.min && value <= axis.max) axis.ticks.push({value});
      }
    }
  };

  // Vertical lines with a number on top; the table below the chart says what each is.
  const marksPlugin = (marks) => ({
    id: 'marks',
    afterDatasetsDraw(chart) {
      const {ctx, chartArea: area, scales: {x}} = chart;
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = themed('--soft');
      ctx.setLineDash([3, 4]);
      ctx.textAlign = 'center';
      ctx.font = '11px system-ui, sans-serif';
      for (const mark of marks) {
        const at = Math.round(x.getPixelForValue(mark.x)) + 0.5;
        if (at < area.left || at > area.right) continue;
        ctx.beginPath();
        ctx.moveTo(at, area.top);
        ctx.lineTo(at, area.bottom);
        ctx.stroke();
        ctx.fillText(mark.text, at, area.top - 6);
      }
      ctx.restore();
    },
  });

  // Where prediction and measurement are equal.
  const diagonalPlugin = {
    id: 'diagonal',
    beforeDatasetsDraw(chart) {
      const {ctx, scales: {x, y}} = chart;
      const low = Math.max(x.min, y.min), high = Math.min(x.max, y.max);
      if (!(low < high)) return;
      ctx.save();
      ctx.strokeStyle = themed('--soft');
      ctx.beginPath();
      ctx.moveTo(x.getPixelForValue(low), y.getPixelForValue(low));
      ctx.lineTo(x.getPixelForValue(high), y.getPixelForValue(high));
      ctx.stroke();
      ctx.restore();
    },
  };

  const datasets = (data, view) => data.series.map((series, i) => ({
    label: series.name,
    data: series.points.map((point) => ({x: point.x, y: point.y[view], text: point.text})),
    borderColor: colour(i),
    backgroundColor: data.is_curves ? colour(i) : colour(i) + 'b0',
    borderDash: dash(i),
    borderWidth: data.is_curves ? 2 : 1,
    pointRadius: data.is_curves ? 0 : 3,
    pointHoverRadius: 5,
    pointHitRadius: 8,
    showLine: data.is_curves,
  }));

  const axis = (name, ticks, text) => ({
    type: 'logarithmic',
    title: {display: true, text: name, color: themed('--soft')},
    grid: {color: themed('--line'), drawTicks: false},
    border: {display: false},
    ticks: {color: themed('--soft'), padding: 6, autoSkip: false, maxRotation: 0, callback: text},
    afterBuildTicks: ticks,
  });

  const options = (data, view) => {
    const xText = data.is_bytes ? bytesText : numberText;
    return {
      animation: false,
      maintainAspectRatio: false,
      layout: {padding: {top: 18, right: 12}},
      interaction: {mode: data.is_curves ? 'index' : 'nearest', intersect: false},
      scales: {
        x: axis(data.x_name, data.is_bytes ? powersOfTwo : decades, xText),
        y: axis(data.views[view], decades, numberText),
      },
      plugins: {
        legend: {display: false},
        tooltip: {
          itemSort: (a, b) => a.parsed.y - b.parsed.y,
          callbacks: {
            title: (items) => items.length ? xText(items[0].parsed.x) : '',
            label: (item) => ' ' + numberText(item.parsed.y) + '  ' + item.dataset.label +
                (item.raw.text ? '  (' + item.raw.text + ')' : ''),
          },
        },
      },
    };
  };

  const element = (parent, tag, properties) =>
      parent.appendChild(Object.assign(document.createElement(tag), properties));
  const press = (button, on) => button.setAttribute('aria-pressed', String(on));

  const sample = (i, isCurve) => {
    const shape = isCurve ?
        `<line x1="0" y1="5" x2="26" y2="5" stroke="var(--s${i % colours})" stroke-width="2.5"
           stroke-dasharray="${dash(i).join(' ')}"/>` :
        `<circle cx="13" cy="5" r="4" fill="var(--s${i % colours})"/>`;
    return `<svg width="26" height="10" aria-hidden="true">${shape}</svg>`;
  };

  // A section with a chart, a button for each view and one for each series.
  const build = (data) => {
    const section = element(document.getElementById('charts'), 'section', {});
    const bar = element(section, 'div', {className: 'bar'});
    element(bar, 'h2', {textContent: data.title});
    const views = element(bar, 'div', {className: 'views'});
    const canvas = element(element(section, 'div', {className: 'plot'}), 'canvas', {});
    const legend = element(section, 'div', {className: 'legend'});
    let view = 0;
    const chart = new Chart(canvas, {
      type: 'line',
      data: {datasets: datasets(data, view)},
      options: options(data, view),
      plugins: [data.is_curves ? marksPlugin(data.marks) : diagonalPlugin],
    });
    const redraw = () => {
      const hidden = data.series.map((_, i) => !chart.isDatasetVisible(i));
      chart.data.datasets = datasets(data, view);
      chart.options = options(data, view);
      hidden.forEach((isHidden, i) => chart.setDatasetVisibility(i, !isHidden));
      chart.update();
    };
    const buttons = data.views.length < 2 ? [] : data.views.map((name, i) => {
      const button = element(views, 'button', {type: 'button', textContent: name});
      press(button, i === view);
      button.addEventListener('click', () => {
        view = i;
        buttons.forEach((other, at) => press(other, at === view));
        redraw();
      });
      return button;
    });
    data.series.forEach((series, i) => {
      const button = element(legend, 'button', {type: 'button'});
      button.innerHTML = sample(i, data.is_curves);
      button.append(series.name);
      press(button, true);
      button.addEventListener('click', () => {
        chart.setDatasetVisibility(i, !chart.isDatasetVisible(i));
        press(button, chart.isDatasetVisible(i));
        chart.update();
      });
    });
    return {chart, redraw};
  };

  const built = charts.map(build);
  document.getElementById('theme').addEventListener('click', () => {
    root.classList.toggle('dark');
    for (const one of built) one.redraw();
  });

  // Pixels with a colour: those of the series, since grid, marks and words are grey.
  const ink = (canvas) => {
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      const [red, green, blue] = [data[i], data[i + 1], data[i + 2]];
      const chroma = Math.max(red, green, blue) - Math.min(red, green, blue);
      if (data[i + 3] > 128 && chroma > 60) count += 1;
    }
    return count;
  };
  root.dataset.series = built.reduce((sum, {chart}) => sum + chart.data.datasets.length, 0);
  root.dataset.ink = built.reduce((sum, {chart}) => sum + ink(chart.canvas), 0);
})();
