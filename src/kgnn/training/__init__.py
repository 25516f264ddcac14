"""How anything is trained; no method is named here."""
