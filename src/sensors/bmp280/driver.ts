/** The BMP280 is read as its family is. */
export { openBosch as open } from '../families/bosch/driver.ts';
