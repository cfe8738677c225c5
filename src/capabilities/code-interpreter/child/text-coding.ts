/**
 * Defines TextEncoder and TextDecoder in a realm without them, as far as the interpreter needs them. The source text of
 * this function is evaluated in that realm, so it must not use anything declared outside of it.
 */
export function defineTextCoding(): void {
  'use strict';
  const CHUNK_UNITS = 8_192;

  class RealmTextEncoder {
    readonly encoding = 'utf-8';

    encode(text = ''): Uint8Array {
      const bytes = new Uint8Array(text.length * 3);
      return bytes.slice(0, this.encodeInto(text, bytes).written);
    }

    encodeInto(text: string, target: Uint8Array): { readonly read: number; readonly written: number } {
      let read = 0;
      let written = 0;
      while (read < text.length) {
        let point = text.codePointAt(read) ?? 0;
        const units = point > 0xffff ? 2 : 1;
        if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
        const size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        if (written + size > target.length) break;
        if (size === 1) target[written] = point;
        else {
          target[written] = (size === 2 ? 0xc0 : size === 3 ? 0xe0 : 0xf0) | (point >> (6 * (size - 1)));
          for (let at = 1; at < size; at++) target[written + at] = 0x80 | ((point >> (6 * (size - 1 - at))) & 0x3f);
        }
        read += units;
        written += size;
      }
      return { read, written };
    }
  }

  class RealmTextDecoder {
    readonly encoding: string;

    constructor(label = 'utf-8') {
      const name = label.toLowerCase();
      const encodingsByLabel = {
        utf8: 'utf-8',
        'utf-8': 'utf-8',
        'utf-16le': 'utf-16le',
        latin1: 'latin1',
        ascii: 'latin1',
      };
      const encoding = Object.entries(encodingsByLabel).find(([each]) => each === name)?.[1];
      if (encoding === undefined) throw new RangeError(`unsupported text encoding: ${label}`);
      this.encoding = encoding;
    }

    decode(source: ArrayBuffer | ArrayBufferView = new Uint8Array()): string {
      const bytes = ArrayBuffer.isView(source)
        ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
        : new Uint8Array(source);
      const units: number[] = [];
      let text = '';
      const push = (point: number): void => {
        if (point > 0xffff) units.push(0xd800 + ((point - 0x10000) >> 10), 0xdc00 + ((point - 0x10000) & 0x3ff));
        else units.push(point);
        if (units.length < CHUNK_UNITS) return;
        text += String.fromCharCode(...units);
        units.length = 0;
      };
      const byteAt = (at: number): number => bytes[at] ?? -1;
      for (let at = 0; at < bytes.length;) {
        const first = byteAt(at++);
        if (this.encoding === 'latin1') push(first);
        else if (this.encoding === 'utf-16le') push(first | (Math.max(0, byteAt(at++)) << 8));
        else if (first < 0x80) push(first);
        else {
          const continuationMax = first >= 0xf0 && first < 0xf5 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
          let point = continuationMax === 3 ? first & 0x07 : continuationMax === 2 ? first & 0x0f : first & 0x1f;
          let continuationCount = 0;
          while (
            continuationCount < continuationMax &&
            (byteAt(at + continuationCount) & 0xc0) === 0x80 &&
            byteAt(at + continuationCount) >= 0
          ) {
            point = (point << 6) | (byteAt(at + continuationCount++) & 0x3f);
          }
          at += continuationCount;
          const pointMin = continuationMax === 3 ? 0x10000 : continuationMax === 2 ? 0x800 : 0x80;
          const isText =
            continuationMax > 0 &&
            continuationCount === continuationMax &&
            first < 0xf5 &&
            point >= pointMin &&
            point <= 0x10ffff;
          push(isText && !(point >= 0xd800 && point <= 0xdfff) ? point : 0xfffd);
        }
      }
      return text + String.fromCharCode(...units);
    }
  }

  Object.assign(globalThis, { TextEncoder: RealmTextEncoder, TextDecoder: RealmTextDecoder });
}
