/* What is not JavaScript, but known to our scripts. */

declare module "*.css" {
  const text: string;
  export default text;
}
