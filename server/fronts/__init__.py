"""What other systems' clients send and read, as sessions and events. Pure, like session/."""
