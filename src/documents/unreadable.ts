/** A document that cannot be read. Its message is a sentence for whoever sent it, and goes on from `The file …`. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}
