"""What the site shows beyond the text of its pages: pictures, commands and public names, made from the code itself."""
