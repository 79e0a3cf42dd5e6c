import { locale } from "./locale";

/** Unit words with the space that stands before them; `gap` stands between two units. */
export default locale(
  { day: " d", hour: " h", minute: " min", second: " s", gap: " ", dayGap: ", " },
  { day: " 天", hour: " 小時", minute: " 分", second: " 秒", gap: " ", dayGap: " " },
);
