/** The verification or the start of a sandbox took too long. It may succeed later, when the machine is less busy. */
export class SandboxTimeoutError extends Error {}
