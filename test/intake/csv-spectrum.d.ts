declare module 'csv-spectrum' {
  /** A file of the suite and what it holds: a list of objects by the names of its header. */
  interface Item {
    readonly name: string;
    readonly csv: Buffer;
    readonly json: Buffer;
  }

  export default function spectrum(done: (error: Error | null, items: Item[]) => void): void;
}
