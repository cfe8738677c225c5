/** Decides whether a process may load its model. */
export interface StartGuard {
  /** Called before each start. @throws ServiceError why the model must not be loaded; callers receive this error. */
  check(): Promise<void>;
  /**
   * Calls the listener when the model that the process has loaded must not be used any longer.
   * @returns a function that removes the listener.
   */
  onRevoked(listener: () => void): () => void;
}
