"""Programs around the engine: servers, bindings and clients."""
