// What one request may cost. The server answers everybody on one thread, so every bound here protects the others.

/** Bytes of a request body, and what all `copy` operations of one JSON patch may add. As kube-apiserver has it. */
export const MAX_BODY = 3 * 1024 * 1024
/** Levels of objects and lists inside each other. Everything that walks an object recurses. */
export const MAX_DEPTH = 500
