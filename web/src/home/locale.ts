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
      "csv-regression": {
        title: "Foretell a number from a table",
        text: "Writes a CSV file and reads it back as it would read yours. Ridge regression and a random forest learn the same rows, and their errors are compared.",
      },
      "image-folder": {
        title: "Learn from pictures in folders",
        text: "One folder per class, pictures shifted by a pixel at random, and training that ends early when it no longer helps.",
      },
      "residual-net": {
        title: "Draw a block once, use it often",
        text: "A residual network: each block adds what two convolutions make of a picture to the picture itself, so a deep stack still learns.",
      },
      vit: {
        title: "Let patches look at each other",
        text: "A vision transformer cuts each digit into 16 patches; a class token collects what they find in each other.",
      },
      "mixture-of-experts": {
        title: "Share work among experts",
        text: "A gate picks two of six small networks for each picture. Afterwards you see which share of the test pictures each expert got.",
      },
      autoencoder: {
        title: "Squeeze pictures into 8 numbers",
        text: "An auto-encoder learns to make digits again out of 8 numbers. Its two halves are then used on their own.",
      },
      vae: {
        title: "Draw digits nobody wrote",
        text: "A variational auto-encoder learns a space in which every point is a picture; random points become new digits.",
      },
      "unet-diffusion": {
        title: "Make digits out of noise",
        text: "A small U-Net learns to guess the noise in a picture. Starting from noise alone, 20 steps take it away again.",
      },
      "char-gpt": {
        title: "Write letter by letter",
        text: "A GPT in miniature learns from a short story which letter follows, beside a model that only counts as the yardstick.",
      },
      "lstm-series": {
        title: "Continue a series",
        text: "An LSTM says what comes next in two sine waves with noise. All data is made by tensor operations in the graph.",
      },
      "kmeans-pca": {
        title: "Find groups without being told",
        text: "PCA turns 64 pixels into 20 features, k-means finds ten groups, and two scatter plots compare them with the true digits.",
      },
      "svm-vs-mlp": {
        title: "Part a ring from a ring",
        text: "A straight border cannot do it. A support vector machine with the rbf kernel can, and so can a small network.",
      },
      "map-over-preset": {
        title: "Try five learning rates at once",
        text: "A preset holds a whole trial. Map runs it for each rate of a list, Reduce finds the best one.",
      },
      "resume-checkpoint": {
        title: "Interrupt and go on",
        text: "One loop trains six epochs; another stops after two and a third goes on from its checkpoint. Both end with the same loss.",
      },
    },
    topic: {
      all: "All",
      pictures: "Pictures",
      making: "Making pictures",
      tables: "Tables",
      sequences: "Text and series",
      classical: "Classical methods",
      building: "Building blocks",
    },
    topics: "Topics",
    notNamed: "not named yet",
    twoVersions: "two versions, undecided",
    importFile: "Import graph file…",
    files: "Files…",
    filesTitle: "Your files",
    noGraphs: "None yet: begin with an example, or with an empty canvas.",
    uses: "Uses",
    newGraph: "New graph",
    showAll: "Show all {{count}}",
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
      "csv-regression": {
        title: "從表格預測數字",
        text: "先寫出 CSV 檔，再像讀你的檔案一樣讀回來。嶺迴歸與隨機森林學習同樣的資料列，並比較兩者的誤差。",
      },
      "image-folder": {
        title: "從資料夾中的圖片學習",
        text: "每個類別一個資料夾，訓練圖片隨機平移一個像素，不再進步時提早停止訓練。",
      },
      "residual-net": {
        title: "畫一次積木，用很多次",
        text: "殘差網路：每個積木把兩層卷積的結果加回原圖，所以疊得很深仍能學習。",
      },
      vit: {
        title: "讓小塊彼此觀察",
        text: "視覺 Transformer 把每個數字切成 16 個小塊，由類別標記收集它們彼此看到的內容。",
      },
      "mixture-of-experts": {
        title: "把工作分給專家",
        text: "閘門為每張圖從六個小網路中挑兩個。訓練後可以看到每位專家分到多少測試圖片。",
      },
      autoencoder: {
        title: "把圖片壓成 8 個數字",
        text: "自編碼器學會用 8 個數字重新畫出數字，之後兩個半邊可以各自使用。",
      },
      vae: {
        title: "畫出沒人寫過的數字",
        text: "變分自編碼器學到一個空間，其中每一點都是一張圖；隨機的點就成為新的數字。",
      },
      "unet-diffusion": {
        title: "從雜訊變出數字",
        text: "小型 U-Net 學習猜出圖片中的雜訊。從純雜訊開始，用 20 步把它去除。",
      },
      "char-gpt": {
        title: "一個字母一個字母地寫",
        text: "迷你 GPT 從一篇短故事學習下一個字母，並以只會計數的模型作為對照。",
      },
      "lstm-series": {
        title: "接續一段數列",
        text: "LSTM 預測兩個正弦波加雜訊的下一個值。所有資料都由圖中的張量運算產生。",
      },
      "kmeans-pca": {
        title: "不給答案也能分群",
        text: "PCA 把 64 個像素變成 20 個特徵，k-means 找出十群，再用兩張散布圖與真正的數字比較。",
      },
      "svm-vs-mlp": {
        title: "分開內環與外環",
        text: "直線做不到；使用 rbf 核的支援向量機可以，小型網路也可以。",
      },
      "map-over-preset": {
        title: "一次試五個學習率",
        text: "預設組包含整個試驗。Map 對清單中的每個學習率執行一次，Reduce 找出最好的。",
      },
      "resume-checkpoint": {
        title: "中斷後繼續",
        text: "一個迴圈訓練六回合；另一個在兩回合後停止，第三個從檢查點繼續。兩條路的損失完全相同。",
      },
    },
    topic: {
      all: "全部",
      pictures: "圖片",
      making: "產生圖片",
      tables: "表格",
      sequences: "文字與數列",
      classical: "經典方法",
      building: "組合技巧",
    },
    topics: "主題",
    notNamed: "尚未命名",
    twoVersions: "兩個版本，尚未決定",
    importFile: "匯入圖檔…",
    files: "檔案…",
    filesTitle: "你的檔案",
    noGraphs: "還沒有圖：從範例或空白畫布開始。",
    uses: "使用",
    newGraph: "新增圖",
    showAll: "顯示全部 {{count}} 個",
  },
);
