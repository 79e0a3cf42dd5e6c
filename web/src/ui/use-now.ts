import { useEffect, useState } from "react";

/** Unix seconds, renewed while `ticking`: for durations that grow. */
export function useNow(ticking: boolean, everyMs = 1000): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    setNow(Date.now() / 1000);
    if (!ticking) return;
    const timer = window.setInterval(() => setNow(Date.now() / 1000), everyMs);
    return () => window.clearInterval(timer);
  }, [ticking, everyMs]);
  return now;
}
