"""The HTTP side: server, TLS, logins, requests and the application."""
