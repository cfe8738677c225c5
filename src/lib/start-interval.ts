/** Starts repeated calls. Passed as a parameter, so that no test waits. @returns a function that stops the calls. */
export type StartInterval = (ms: number, run: () => void) => () => void;

/** The runtime's timer. It does not keep the process alive. */
export const startInterval: StartInterval = (ms, run) => {
  const timer = setInterval(run, ms);
  timer.unref();
  return () => clearInterval(timer);
};
