"""Server: programs around the engine; here the endpoint that tells its figures."""
