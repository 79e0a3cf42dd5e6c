// uPlot with Codefy's look, without React: lines in, pixels out.
import uPlot from "uplot";
import { metricText, tickText } from "./format";
import { ascending, decimated, lastFinite, nearest, type Points, type Prepared, smoothed } from "./line-data";
import { type Palette, readable } from "./palette";
import { extent, linearTicks, logTicks, padded, type ScaleKind, spread } from "./scales";

export interface ChartLine {
  key: string;
  /** Stands at the line's end, with its last value; empty for a line that is alone. */
  label: string;
  xs: ArrayLike<number>;
  ys: ArrayLike<number>;
  /** Which colour and dash pattern. */
  look: number;
  /** Whether smoothing applies to it. */
  smooth: boolean;
}

export interface PlotSettings {
  scale: ScaleKind;
  /** Weight of the past, 0 … 0.99. */
  smoothing: number;
  xText: (x: number) => string;
  palette: Palette;
  /** How far the axis will reach when the run ends, if that is known. */
  xEnd?: number | undefined;
}

/** What is under the pointer: the nearest point of each line. */
export interface Reading {
  x: number;
  values: { key: string; label: string; look: number; value: number }[];
}

export interface PlotEvents {
  onRead: (reading: Reading | null) => void;
  onZoom: (zoomed: boolean) => void;
}

interface DrawnLine {
  line: ChartLine;
  raw: Points;
  /** What the eye follows: smoothed if smoothing applies, else raw. */
  main: Points;
  isSmoothed: boolean;
  crosses: number[];
}

const LABEL_GAP = 13;
const RAW_ALPHA = 0.32;

export class Plot {
  readonly #host: HTMLElement;
  readonly #events: PlotEvents;
  readonly #syncKey: string | undefined;
  #settings: PlotSettings;
  #lines: DrawnLine[] = [];
  #chart: uPlot | null = null;
  #structure = "";
  #zoom: [number, number] | null = null;
  #yRange: [number, number] = [0, 1];
  #width: number;
  #height: number;
  #rightPad = 12;
  #gone = false;

  constructor(host: HTMLElement, settings: PlotSettings, events: PlotEvents, syncKey?: string) {
    this.#host = host;
    this.#settings = settings;
    this.#events = events;
    this.#syncKey = syncKey;
    this.#width = Math.max(120, host.clientWidth);
    this.#height = Math.max(80, host.clientHeight);
  }

  /** Show these lines. Cheap when only points were added. */
  update(lines: readonly ChartLine[], settings: PlotSettings): void {
    if (this.#gone) return;
    const themed = settings.palette !== this.#settings.palette;
    this.#settings = settings;
    this.#lines = lines.map((line) => {
      const raw = ascending(line);
      const isSmoothed = line.smooth && settings.smoothing > 0;
      const main = isSmoothed ? { xs: raw.xs, ys: smoothed(raw.ys, settings.smoothing) } : raw;
      return { line, raw, main, isSmoothed, crosses: [] };
    });
    const structure = `${settings.scale}|${this.#lines
      .map((drawn) => `${drawn.line.key}:${drawn.line.look}:${drawn.isSmoothed}`)
      .join("|")}`;
    if (this.#chart === null || structure !== this.#structure || themed) {
      this.#structure = structure;
      this.#rebuild();
    } else {
      this.#refresh();
    }
  }

  resize(width: number, height: number): void {
    if (this.#gone || width < 40 || height < 40) return;
    if (width === this.#width && height === this.#height) return;
    this.#width = width;
    this.#height = height;
    this.#chart?.setSize({ width, height });
    this.#refresh();
  }

  resetZoom(): void {
    this.#setZoom(null);
  }

  destroy(): void {
    this.#gone = true;
    this.#chart?.destroy();
    this.#chart = null;
  }

  #setZoom(zoom: [number, number] | null): void {
    this.#zoom = zoom;
    this.#events.onZoom(zoom !== null);
    this.#refresh();
  }

  #xRange(): [number, number] {
    if (this.#zoom) return this.#zoom;
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    for (const { raw } of this.#lines) {
      if (raw.xs.length === 0) continue;
      low = Math.min(low, raw.xs[0] as number);
      high = Math.max(high, raw.xs[raw.xs.length - 1] as number);
    }
    if (!(low <= high)) return [0, 1];
    high = Math.max(high, this.#settings.xEnd ?? high);
    // Training starts at nought: keep it in the picture unless the data begin far away.
    if (low > 0 && low < high * 0.25) low = 0;
    return low === high ? [low - 0.5, high + 0.5] : [low, high];
  }

  /** Decimate what is in view and hand it to uPlot. */
  #data(): uPlot.AlignedData {
    const [from, to] = this.#xRange();
    const columns = Math.max(100, Math.round(this.#width));
    const shown: (number | null)[] = [];
    const tables: uPlot.AlignedData[] = [];
    const add = (prepared: Prepared) => {
      for (const y of prepared.ys) shown.push(y);
      // A log axis has no place for zero and below.
      const ys =
        this.#settings.scale === "log"
          ? prepared.ys.map((y) => (y !== null && y <= 0 ? null : y))
          : prepared.ys;
      tables.push([prepared.xs, ys] as uPlot.AlignedData);
    };
    for (const drawn of this.#lines) {
      const raw = decimated(drawn.raw, from, to, columns);
      drawn.crosses = raw.crosses.filter((x) => x >= from && x <= to);
      if (drawn.isSmoothed) add(raw);
      add(drawn.isSmoothed ? decimated(drawn.main, from, to, columns) : raw);
    }
    const range = extent(shown, this.#settings.scale);
    this.#yRange = range ? padded(range[0], range[1], this.#settings.scale) : [0.1, 1];
    this.#rightPad = this.#labelRoom();
    if (tables.length === 0) return [[], []];
    // Mode 1 keeps a null as a break of its own line, apart from the places where only other lines have a point.
    return uPlot.join(
      tables,
      tables.map((table) => table.map(() => 1)),
    );
  }

  #labelRoom(): number {
    const longest = Math.max(
      0,
      ...this.#lines.map((drawn) => this.#endText(drawn, lastFinite(drawn.main.ys)).length),
    );
    return Math.min(this.#width * 0.4, 14 + longest * 6.6);
  }

  #endText(drawn: DrawnLine, at: number): string {
    const value = at < 0 ? "" : metricText(drawn.main.ys[at] as number).replace(/^(−?)0\./, "$1.");
    return [drawn.line.label, value].filter(Boolean).join(" ");
  }

  #refresh(): void {
    const chart = this.#chart;
    if (!chart) return;
    const data = this.#data();
    const [from, to] = this.#xRange();
    chart.batch(() => {
      chart.setData(data, false);
      chart.setScale("x", { min: from, max: to });
    });
  }

  #rebuild(): void {
    this.#chart?.destroy();
    const data = this.#data();
    const chart = new uPlot(this.#options(), data, this.#host);
    this.#chart = chart;
    const [from, to] = this.#xRange();
    chart.setScale("x", { min: from, max: to });
  }

  #options(): uPlot.Options {
    const { palette, scale, xText } = this.#settings;
    const font = `500 11px ${palette.font}`;
    const series: uPlot.Series[] = [{}];
    for (const { line, isSmoothed } of this.#lines) {
      const look = palette.looks[line.look % palette.looks.length];
      const color = look?.color ?? palette.ink;
      if (isSmoothed) {
        series.push({ stroke: color, width: 1, alpha: RAW_ALPHA, points: { show: false } });
      }
      series.push({
        stroke: color,
        width: 1.75,
        dash: look?.dash ?? [],
        points: { show: line.xs.length === 1, size: 6, fill: color, stroke: color },
      });
    }
    const sync = this.#syncKey === undefined ? {} : { sync: { key: this.#syncKey, setSeries: false } };
    return {
      width: this.#width,
      height: this.#height,
      padding: [8, () => this.#rightPad, 0, 0] as unknown as uPlot.Padding,
      legend: { show: false },
      cursor: {
        ...sync,
        y: false,
        points: { size: 6, width: 1.5 },
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => this.#zoomOut() },
      },
      series,
      scales: {
        x: { time: false, auto: false },
        y: { distr: scale === "log" ? 3 : 1, range: () => this.#yRange },
      },
      axes: [
        {
          stroke: palette.label,
          font,
          size: 24,
          gap: 4,
          grid: { show: false },
          ticks: { show: false },
          border: { show: true, stroke: palette.axis, width: 1 },
          splits: (u) => this.#xTicks(u),
          values: (_, splits) => splits.map((x) => xText(x)),
        },
        {
          stroke: palette.label,
          font,
          gap: 6,
          size: (_, values) => (values ? Math.max(...values.map((v) => v.length), 1) * 6.4 + 12 : 40),
          grid: { stroke: palette.grid, width: 1 },
          ticks: { show: false },
          splits: () => this.#yTicks(),
          filter: (_, splits) => splits,
          values: (_, splits) => splits.map(tickText),
        },
      ],
      hooks: {
        draw: [(u) => this.#drawCrosses(u), (u) => this.#drawEnds(u)],
        setSelect: [(u) => this.#selected(u)],
        setCursor: [(u) => this.#read(u)],
      },
    };
  }

  #xTicks(u: uPlot): number[] {
    const [from, to] = this.#xRange();
    const plotWidth = u.bbox.width / uPlot.pxRatio;
    return linearTicks(from, to, Math.max(2, Math.floor(plotWidth / 64)));
  }

  #yTicks(): number[] {
    const [low, high] = this.#yRange;
    const most = Math.max(2, Math.floor((this.#height - 32) / 36));
    return this.#settings.scale === "log" ? logTicks(low, high, most) : linearTicks(low, high, most);
  }

  #zoomOut(): null {
    this.#setZoom(null);
    return null;
  }

  #selected(u: uPlot): void {
    if (u.select.width < 4) return;
    const from = u.posToVal(u.select.left, "x");
    const to = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.#setZoom([from, to]);
  }

  #read(u: uPlot): void {
    const left = u.cursor.left ?? -1;
    if (left < 0) {
      this.#events.onRead(null);
      return;
    }
    const x = u.posToVal(left, "x");
    const values = this.#lines.flatMap(({ line, main }) => {
      const at = nearest(main.xs, x);
      if (at < 0) return [];
      return [{ key: line.key, label: line.label, look: line.look, value: main.ys[at] as number }];
    });
    const first = this.#lines[0];
    const at = first ? nearest(first.main.xs, x) : -1;
    this.#events.onRead({ x: at < 0 ? x : (first?.main.xs[at] as number), values });
  }

  /** A value that is no number has no height: its place in time is marked on the axis. */
  #drawCrosses(u: uPlot): void {
    const { ctx } = u;
    const ratio = uPlot.pxRatio;
    const y = u.bbox.top + u.bbox.height;
    const size = 3.5 * ratio;
    ctx.save();
    ctx.lineWidth = 1.5 * ratio;
    // The dashes of the line that was drawn last are still set.
    ctx.setLineDash([]);
    for (const { line, crosses } of this.#lines) {
      ctx.strokeStyle = this.#color(line);
      ctx.beginPath();
      let last = Number.NEGATIVE_INFINITY;
      for (const value of crosses) {
        const x = u.valToPos(value, "x", true);
        // Crosses on top of each other are one cross.
        if (x - last < size * 2.5) continue;
        last = x;
        ctx.moveTo(x - size, y - size);
        ctx.lineTo(x + size, y + size);
        ctx.moveTo(x - size, y + size);
        ctx.lineTo(x + size, y - size);
      }
      ctx.stroke();
    }
    ctx.restore();
  }

  #drawEnds(u: uPlot): void {
    const { ctx } = u;
    const ratio = uPlot.pxRatio;
    const { palette } = this.#settings;
    const ends = this.#lines.flatMap((drawn) => {
      const at = this.#endInView(drawn);
      if (at < 0) return [];
      const x = u.valToPos(drawn.main.xs[at] as number, "x", true);
      const y = u.valToPos(drawn.main.ys[at] as number, "y", true);
      return Number.isFinite(y) ? [{ drawn, at, x, y }] : [];
    });
    const top = u.bbox.top + 5 * ratio;
    const bottom = u.bbox.top + u.bbox.height - 5 * ratio;
    const places = spread(
      ends.map((end) => end.y),
      LABEL_GAP * ratio,
      top,
      bottom,
    );
    ctx.save();
    ctx.font = `500 ${11 * ratio}px ${palette.font}`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ends.forEach(({ drawn, at, x, y }, i) => {
      ctx.fillStyle = this.#color(drawn.line);
      ctx.beginPath();
      ctx.arc(x, y, 2.5 * ratio, 0, 2 * Math.PI);
      ctx.fill();
      const text = this.#endText(drawn, at);
      const height = places[i] as number;
      ctx.lineWidth = 3 * ratio;
      ctx.lineJoin = "round";
      ctx.strokeStyle = palette.ground;
      ctx.strokeText(text, x + 7 * ratio, height);
      ctx.fillStyle = readable(this.#color(drawn.line), palette.ground, palette.ink);
      ctx.fillText(text, x + 7 * ratio, height);
    });
    ctx.restore();
  }

  /** The last finite point that is in view. */
  #endInView(drawn: DrawnLine): number {
    const [from, to] = this.#xRange();
    const { xs, ys } = drawn.main;
    for (let i = ys.length - 1; i >= 0; i--) {
      const x = xs[i] as number;
      if (x < from) return -1;
      const y = ys[i] as number;
      if (x <= to && Number.isFinite(y) && (y > 0 || this.#settings.scale === "linear")) return i;
    }
    return -1;
  }

  #color(line: ChartLine): string {
    const { looks, ink } = this.#settings.palette;
    return looks[line.look % looks.length]?.color ?? ink;
  }
}
