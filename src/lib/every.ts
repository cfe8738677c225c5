/** A repeated call as an argument, so that no test waits for it. Returns what ends it. */
export type Every = (ms: number, run: () => void) => () => void;

/** The runtime's own timer; it does not keep the process alive. */
export const every: Every = (ms, run) => {
  const timer = setInterval(run, ms);
  timer.unref();
  return () => clearInterval(timer);
};
