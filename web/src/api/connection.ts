// The page's one connection to /ws/execution, opened when something first needs it.
import { presence } from "./presence";
import { ExecutionSocket, type SocketLike } from "./socket";

let shared: ExecutionSocket | null = null;

function webSocketUrl(): string {
  const { protocol, host } = window.location;
  return `${protocol === "https:" ? "wss:" : "ws:"}//${host}/ws/execution`;
}

export function connection(): ExecutionSocket {
  if (shared) return shared;
  const socket = new ExecutionSocket({
    open: () => new WebSocket(webSocketUrl()) as unknown as SocketLike,
    heard: presence.heard,
  });
  window.addEventListener("online", () => socket.wake());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") socket.wake();
  });
  shared = socket;
  return socket;
}
