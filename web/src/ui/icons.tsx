import type { ReactNode } from "react";

/** The drawings of all icons on a 16 px grid, stroked unless `filled`. */
export const icons = {
  activation: <path d="M2 12h5.5L14 3" />,
  alignBottom: <path d="M2 13.5h12M4 3h3v8H4zM9 6h3v5H9z" />,
  alignCenter: <path d="M8 1.5v2M8 12.5v2M3 3.5h10v3H3zM5 9.5h6v3H5zM8 6.5v3" />,
  alignLeft: <path d="M2.5 2v12M5 4h8v3H5zM5 9h5v3H5z" />,
  alignMiddle: <path d="M1.5 8h2M12.5 8h2M3.5 3h3v10h-3zM9.5 5h3v6h-3zM6.5 8h3" />,
  alignRight: <path d="M13.5 2v12M3 4h8v3H3zM6 9h5v3H6z" />,
  alignTop: <path d="M2 2.5h12M4 5h3v8H4zM9 5h3v5H9z" />,
  bell: <path d="M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3zM6.8 14.5h2.4" />,
  cancelled: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="m4.2 11.8 7.6-7.6" />
    </>
  ),
  check: <path d="m3 8.5 3.3 3.3L13 4.8" />,
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  code: <path d="m5.5 4.5-3.5 3.5 3.5 3.5M10.5 4.5l3.5 3.5-3.5 3.5" />,
  columns: (
    <>
      <rect x="2" y="3" width="12" height="10" rx="1.5" />
      <path d="M6.5 3v10M10.5 3v10" />
    </>
  ),
  compare: (
    <>
      <path d="M2 12c3 0 3-8 6-8s3 5 6 5" />
      <path d="M2 8c3 0 4 4 12 4" strokeDasharray="2 1.8" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 3.5v-1h-8v8h1" />
    </>
  ),
  database: (
    <>
      <ellipse cx="8" cy="4" rx="5" ry="2" />
      <path d="M3 4v8c0 1.1 2.2 2 5 2s5-.9 5-2V4M3 8c0 1.1 2.2 2 5 2s5-.9 5-2" />
    </>
  ),
  degraded: (
    <>
      <path d="M8 2.5 14.5 13.5h-13z" />
      <path d="M8 6.8v3M8 11.7v.1" />
    </>
  ),
  disconnected: (
    <path d="M6.5 9.5 4.8 11.2a2.3 2.3 0 0 1-3.2-3.2L4 5.6M9.5 6.5l1.7-1.7a2.3 2.3 0 0 1 3.2 3.2L12 10.4M5 2.5l.8 2M11 13.5l-.8-2" />
  ),
  down: <path d="m4 6 4 4 4-4" />,
  download: <path d="M8 2.5v7.5M4.8 7 8 10.2 11.2 7M2.5 13.5h11" />,
  draining: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 5v5.5M5.8 8.5 8 10.7l2.2-2.2" />
    </>
  ),
  dropout: <path d="M3 3l10 10M3 8h.1M8 3h.1M13 8h.1M8 13h.1" />,
  external: <path d="M9 2.5h4.5V7M13.5 2.5 7.5 8.5M11.5 9.5v4h-9v-9h4" />,
  eye: (
    <>
      <path d="M1.5 8C3 5 5.5 3.5 8 3.5S13 5 14.5 8C13 11 10.5 12.5 8 12.5S3 11 1.5 8z" />
      <circle cx="8" cy="8" r="2" />
    </>
  ),
  failed: (
    <>
      <path d="M5.5 2.5h5l3 3v5l-3 3h-5l-3-3v-5z" />
      <path d="m6 6 4 4M10 6l-4 4" />
    </>
  ),
  file: <path d="M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3" />,
  fit: <path d="M2.5 5.5v-3h3M10.5 2.5h3v3M13.5 10.5v3h-3M5.5 13.5h-3v-3" />,
  flatten: <path d="M2 4.5h12M2 8h12M2 11.5h12" />,
  folder: <path d="M2 12.5v-9h4.2l1.6 2H14v7z" />,
  frame: <path d="M4.5 2v12M11.5 2v12M2 4.5h12M2 11.5h12" />,
  gauge: <path d="M2.5 12a6 6 0 1 1 11 0M8 9.5l2.5-3.5" />,
  graph: (
    <>
      <rect x="1.5" y="2.5" width="5" height="4" rx="1" />
      <rect x="9.5" y="9.5" width="5" height="4" rx="1" />
      <path d="M6.5 4.5h1.2c1.4 0 .2 7 1.8 7" />
    </>
  ),
  grid: (
    <>
      <rect x="2" y="2" width="12" height="12" rx="1" />
      <path d="M6 2v12M10 2v12M2 6h12M2 10h12" />
    </>
  ),
  help: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M6.3 6.3a1.8 1.8 0 1 1 2.6 1.7c-.6.3-.9.6-.9 1.2M8 11.4v.1" />
    </>
  ),
  home: <path d="M2.5 7 8 2.5 13.5 7v6.5h-4v-4h-3v4h-4z" />,
  info: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M8 7.3v4M8 4.8v.1" />
    </>
  ),
  input: <path d="M2 8h8M7 5l3 3-3 3M13.5 3v10" />,
  interrupted: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M6.5 6v4M9.5 6v4" />
    </>
  ),
  layers: <path d="m8 2 6 3-6 3-6-3zM2.5 8.3 8 11l5.5-2.7M2.5 11.3 8 14l5.5-2.7" />,
  layout: (
    <>
      <rect x="2" y="6" width="3.5" height="4" rx=".8" />
      <rect x="10.5" y="2.5" width="3.5" height="4" rx=".8" />
      <rect x="10.5" y="9.5" width="3.5" height="4" rx=".8" />
      <path d="M5.5 8H8M10.5 4.5H8v7h2.5" />
    </>
  ),
  library: <path d="M2.5 3.5h4v4h-4zM9.5 3.5h4v4h-4zM2.5 10.5h4v3h-4zM9.5 10.5h4v3h-4z" />,
  linear: <path d="M3.5 3.5 12.5 6M3.5 3.5l9 9M3.5 12.5 12.5 6M3.5 12.5h9" />,
  loop: <path d="M12.8 6A5.2 5.2 0 0 0 3 6.5M3.2 10A5.2 5.2 0 0 0 13 9.5M13 3v3.2H9.8M3 13V9.8h3.2" />,
  map: (
    <>
      <rect x="2" y="3" width="12" height="10" rx="1.5" />
      <rect x="8" y="8" width="4" height="3" />
    </>
  ),
  minus: <path d="M3 8h10" />,
  moon: <path d="M13 9.7A5.5 5.5 0 1 1 6.3 3a4.5 4.5 0 0 0 6.7 6.7z" />,
  more: <path d="M3.5 8h.1M8 8h.1M12.5 8h.1" strokeWidth="2.2" />,
  norm: <path d="M2 13c4 0 3.5-9 6-9s2 9 6 9" />,
  note: <path d="M2.5 3h11v8h-6l-3 2.5V11h-2z" />,
  offline: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M5.5 8h5" />
    </>
  ),
  optimizer: <path d="M2 4c2 8 4 9 6 9s4-1 6-9M8 9.5v.1" />,
  output: <path d="M2.5 3v10M6 8h8M11 5l3 3-3 3" />,
  pin: <path d="M5.5 2.5h5l-.8 4 2 2.5h-7.4l2-2.5zM8 9v5" />,
  play: <path d="M4.5 2.8v10.4L13 8z" />,
  plus: <path d="M8 3v10M3 8h10" />,
  pool: (
    <>
      <rect x="2" y="2" width="12" height="12" rx="1" />
      <rect x="5" y="5" width="6" height="6" />
    </>
  ),
  print: <path d="M2.5 3.5h11v9h-11zM5 6.5l2 1.5-2 1.5M8.5 9.5h2.5" />,
  queued: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 5v3.2l2 1.3" />
    </>
  ),
  redo: <path d="M13 6H6.5a3.5 3.5 0 0 0 0 7H10M13 6l-3-3M13 6l-3 3" />,
  retry: <path d="M13 8a5 5 0 1 1-1.5-3.6M13 2.5V5h-2.5" />,
  reused: (
    <>
      <path d="m1.2 8.6 3 3 5.8-6.8" />
      <path d="m7.3 11.3.3.3 6.9-7.6" />
    </>
  ),
  left: <path d="m10 4-4 4 4 4" />,
  right: <path d="m6 4 4 4-4 4" />,
  running: <path d="M8 2.5A5.5 5.5 0 1 1 2.5 8" strokeWidth="2" />,
  runs: (
    <>
      <path d="M6 4h8M6 8h8M6 12h8" />
      <path d="M2 2.8 4 4 2 5.2zM2.6 8h.8M2.6 12h.8" />
    </>
  ),
  save: <path d="M2.5 2.5h9l2 2v9h-11zM5 2.5v3.5h5V2.5M5 13.5V9.5h6v4" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4.3" />
      <path d="m10.3 10.3 3.2 3.2" />
    </>
  ),
  sliders: (
    <>
      <path d="M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6" />
      <circle cx="10" cy="4.5" r="1.8" />
      <circle cx="6" cy="11.5" r="1.8" />
    </>
  ),
  split: <path d="M2.5 8h4M6.5 8l3-4h4M6.5 8l3 4h4" />,
  stale: <circle cx="8" cy="8" r="5.5" strokeDasharray="2.6 1.7" />,
  spreadAcross: <path d="M2 2v12M14 2v12M5.5 5h5v6h-5z" />,
  spreadDown: <path d="M2 2h12M2 14h12M5 5.5h6v5H5z" />,
  stop: <rect x="4" y="4" width="8" height="8" rx="1" />,
  succeeded: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="m5.3 8.3 1.9 1.9 3.5-4" />
    </>
  ),
  sun: (
    <>
      <circle cx="8" cy="8" r="3" />
      <path d="M8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9" />
    </>
  ),
  sweep: <path d="M2 13.5h12M3.5 11V8M6.5 11V4M9.5 11V6M12.5 11V2.5" />,
  system: (
    <>
      <rect x="2" y="3" width="12" height="8" rx="1" />
      <path d="M6 14h4M8 11v3" />
    </>
  ),
  tag: <path d="M2.5 2.5h5l6 6-5 5-6-6zM5.3 5.3v.1" />,
  target: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <circle cx="8" cy="8" r="2" />
    </>
  ),
  trash: <path d="M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9" />,
  undo: <path d="M3 6h6.5a3.5 3.5 0 0 1 0 7H6M3 6l3-3M3 6l3 3" />,
  up: <path d="m4 10 4-4 4 4" />,
  upload: <path d="M8 10.5V3M4.800 6 8 2.800 11.200 6M2.500 10v3.500h11V10" />,
  warning: <path d="M8 2.5 14.5 13.5h-13zM8 6.8v3M8 11.7v.1" />,
  workers: (
    <>
      <rect x="2" y="2.5" width="12" height="4.5" rx="1" />
      <rect x="2" y="9" width="12" height="4.5" rx="1" />
      <path d="M4.5 4.8h.1M4.5 11.2h.1M8 4.8h3.5M8 11.2h3.5" />
    </>
  ),
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof icons;
