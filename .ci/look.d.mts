/** Makes src/web/static/look, and leaves what is there already. Does nothing where the libraries are left out. */
export function makeLook(): void;
