"""From declared axes to decided cells, collapsed builds and one content-addressed plan."""
