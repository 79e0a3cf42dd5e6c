"""The HTTP and WebSocket edge: decode, call the service, encode."""
