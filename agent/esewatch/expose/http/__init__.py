"""The HTTP side: server, TLS, logins, requests and the application."""

DEFAULT_ADDRESS = "127.0.0.1:19703"
