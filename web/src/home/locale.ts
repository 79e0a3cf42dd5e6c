import { locale } from "../i18n/locale";

export default locale(
  {
    title: "Home",
    lead: "Draw a network, train it here or on your machines, watch every step.",
    examples: "Examples",
    examplesText: "Each opens on the canvas as your own copy and runs as it is.",
    open: "Open",
    openNamed: "Open {{title}}",
    nodes_one: "{{count}} node",
    nodes_other: "{{count}} nodes",
    examplesFailed: "The examples could not be loaded.",
    graphs: "Your graphs",
    saved: "saved {{time}}",
    recent: "Recent runs",
    allRuns: "All runs",
    noRuns: "No runs yet. Open an example and press “Run here”.",
    live: "{{running}} running, {{queued}} queued",
    quiet: "Nothing is running",
    runsFailed: "The runs could not be loaded.",
    example: {
      "digits-cnn": {
        title: "Read handwritten digits",
        text: "A small convolutional network learns 1,797 grey images of 8 × 8 pixels that come with scikit-learn. About 98 % on images it has never seen, in seconds on a CPU.",
      },
      "wine-mlp": {
        title: "Tell wines apart",
        text: "Three kinds of wine by 13 chemical measurements: the split scales them by the training part, a network with one hidden layer does the rest.",
      },
    },
  },
  {
    title: "首頁",
    lead: "畫出網路，在這裡或你的機器上訓練，每一步都看得見。",
    examples: "範例",
    examplesText: "每個範例都會在畫布上開成你自己的副本，不必修改就能執行。",
    open: "開啟",
    openNamed: "開啟 {{title}}",
    nodes_other: "{{count}} 個節點",
    examplesFailed: "無法載入範例。",
    graphs: "你的圖",
    saved: "{{time}} 儲存",
    recent: "最近的執行",
    allRuns: "全部執行",
    noRuns: "還沒有執行。開啟範例並按「在此執行」。",
    live: "{{running}} 個執行中，{{queued}} 個排隊中",
    quiet: "目前沒有執行",
    runsFailed: "無法載入執行。",
    example: {
      "digits-cnn": {
        title: "辨識手寫數字",
        text: "小型卷積網路學習 scikit-learn 附帶的 1,797 張 8 × 8 灰階影像。在沒看過的影像上約有 98 % 正確，用 CPU 只需幾秒。",
      },
      "wine-mlp": {
        title: "分辨葡萄酒",
        text: "以 13 項化學測量分辨三種葡萄酒：切分時依訓練資料縮放，其餘交給只有一個隱藏層的網路。",
      },
    },
  },
);
