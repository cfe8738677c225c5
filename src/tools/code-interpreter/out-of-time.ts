/** What was to be found out took too long: on a machine that is less busy it may be found out later. */
export class OutOfTime extends Error {}
