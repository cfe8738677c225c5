/** Settings of an embedded engine with one thread and a queue of one request. */
export const TEST_LLAMA_SETTINGS = {
  threads: 1,
  gpu: false,
  workspaceShare: 0.5,
  queueLengthMax: 1,
  queueWaitMsMax: 1,
} as const;
