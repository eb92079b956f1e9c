/** The names of all of Jinja's filters, for `is filter`. */
export const filterNames: ReadonlySet<string> = new Set(
  `abs attr batch capitalize center count d default dictsort e escape filesizeformat first float forceescape format
  groupby indent int items join last length list lower map max min pprint random reject rejectattr replace reverse round
  safe select selectattr slice sort string striptags sum title tojson trim truncate unique upper urlencode urlize
  wordcount wordwrap xmlattr`.split(/\s+/),
)
