"""The service: the same actions as the command line, over HTTP. `app.create_app` makes it."""
